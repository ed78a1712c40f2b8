"""Access tokens in memory, for a process that shares them with no other."""

import asyncio
from dataclasses import dataclass, field

from adapters.base import AdapterError, Clock, ErrorKind, Exchange, Fault, Grant, Happened, Invocation, Secret

SPARE_SECONDS = 60.0
"""A token that is good for less than this is not used any more."""


@dataclass(slots=True)
class _Account:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
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
        try:
            async with asyncio.timeout(invocation.deadline - self._clock.monotonic()), account.lock:
                grant = await self._grant(account, invocation, exchange, refused)
        except TimeoutError as error:
            message = "The call's time was up before the vendor had given an access token."
            raise AdapterError(ErrorKind.DEADLINE, message, happened=Happened.NO, fault=Fault.TIMEOUT) from error
        token = Secret(grant.access_token)
        invocation.learn(token)
        return token

    async def _grant(self, account: _Account, invocation: Invocation, exchange: Exchange, refused: str) -> Grant:
        lent = "" if invocation.credential is None else invocation.credential.reveal()
        if account.of != lent:
            account.of, account.grant, account.kept = lent, None, None
        kept = account.grant
        if kept and kept.access_token != refused and kept.expires_at - self._clock.now() > SPARE_SECONDS:
            return kept
        account.grant = await exchange(Secret(account.kept or lent))
        account.kept = account.grant.credential or account.kept
        return account.grant
