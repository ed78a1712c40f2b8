"""Access tokens in memory, for a process that shares them with no other."""

import asyncio
from dataclasses import dataclass

from adapters.base import AdapterError, Clock, ErrorKind, Exchange, Fault, Grant, Happened, Invocation, Secret

SPARE_SECONDS = 60.0
"""A token that is good for less than this is not used any more."""


@dataclass(slots=True)
class _Account:
    flight: "asyncio.Task[Grant] | None" = None
    """Asks the vendor, for all who wait."""
    grant: Grant | None = None
    of: str = ""
    """The credential that the grant was given for."""
    kept: str | None = None
    """What the vendor gave in that credential's place."""


class MemoryTokens:
    """`TokenStore` of one process. What a vendor gives in a credential's place is lost when the process ends, so use
    it only where vendors do not do that.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._accounts: dict[str, _Account] = {}

    async def access_token(self, invocation: Invocation, exchange: Exchange, *, refused: str = "") -> Secret:
        """See `TokenStore.access_token`."""
        account = self._accounts.setdefault(invocation.target.account or invocation.target.name, _Account())
        lent = "" if invocation.credential is None else invocation.credential.reveal()
        try:
            async with asyncio.timeout(invocation.deadline - self._clock.monotonic()):
                grant = await self._grant(account, lent, exchange, refused)
        except TimeoutError as error:
            message = "The call's time was up before the vendor had given an access token."
            raise AdapterError(ErrorKind.DEADLINE, message, happened=Happened.NO, fault=Fault.TIMEOUT) from error
        token = Secret(grant.access_token)
        invocation.learn(token)
        return token

    async def _grant(self, account: _Account, lent: str, exchange: Exchange, refused: str) -> Grant:
        while True:
            kept = account.grant
            if kept and account.of == lent and kept.access_token != refused and self._is_good(kept):
                return kept
            flight = account.flight
            is_ours = flight is None
            if flight is None:
                flight = account.flight = asyncio.get_running_loop().create_task(_ask(account, lent, exchange))
                flight.add_done_callback(_heard)
            # Whoever leaves breaks nothing off: the answer may hold the only credential that is good from now on.
            await asyncio.wait((flight,))
            if is_ours or account.of == lent:
                grant = _result(flight, is_ours=is_ours)
                if grant is not None and (is_ours or grant.access_token != refused):
                    return grant

    def _is_good(self, grant: Grant) -> bool:
        return grant.expires_at - self._clock.now() > SPARE_SECONDS


async def _ask(account: _Account, lent: str, exchange: Exchange) -> Grant:
    if account.of != lent:
        account.of, account.grant, account.kept = lent, None, None
    try:
        account.grant = await exchange(Secret(account.kept or lent))
    finally:
        account.flight = None
    account.kept = account.grant.credential or account.kept
    return account.grant


def _heard(flight: "asyncio.Task[Grant]") -> None:
    """Nobody may be left to hear how it ended."""
    if not flight.cancelled():
        flight.exception()


def _result(flight: "asyncio.Task[Grant]", *, is_ours: bool) -> Grant | None:
    """What it came to; None when only the time of somebody else was up. Each who waited is told by an error of its
    own: an exception remembers who raised it.
    """
    error = flight.exception()
    if isinstance(error, AdapterError) and error.kind is ErrorKind.DEADLINE and not is_ours:
        return None
    if isinstance(error, AdapterError):
        raise AdapterError(
            error.kind,
            error.message,
            happened=error.happened,
            fault=error.fault,
            retry_after_seconds=error.retry_after_seconds,
        ) from error
    return flight.result()
