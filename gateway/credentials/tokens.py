"""Access tokens of accounts, shared by all replicas: `TokenStore` over the gateway's store."""

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adapters.base import AdapterError, Clock, ErrorKind, Exchange, Fault, Happened, Invocation, Secret
from gateway.background import end
from gateway.credentials.token_renewal import Credentials, OnEvent, Renewal, Wish
from gateway.credentials.token_rows import Kept, Place, TokenRows, digest
from gateway.sealing.recent import Recent
from gateway.store.database import Database
from gateway.store.sealing import Seal

MOST_ACCOUNTS = 10_000
"""Whose tokens are in memory."""
DEAD_SECONDS = 5.0
"""How long a vendor's no to a credential holds: asking again and again would lock the account, or us."""
STOP_SECONDS = 5.0
"""How long an end waits for answers of vendors, which may hold the only credential that is good from now on."""
_FIRST_DEBT_SECONDS, _LAST_DEBT_SECONDS = 1.0, 60.0

Where = Callable[[str], tuple[str, str] | None]
"""By account: whose it is, and the credential's reference, as the registry has them now; None when it is gone."""


def _nothing(_event: str, _fields: Mapping[str, str]) -> None:
    """Nobody wants to know."""


class StoreTokens:
    """`TokenStore`. Of all callers of all replicas one asks the vendor, in a task of its own: whoever leaves breaks
    nothing off. Use it on one loop.
    """

    def __init__(  # noqa: PLR0913 - its parts
        self,
        database: Database,
        seal: Seal,
        credentials: Callable[[], Credentials],
        where: Where,
        *,
        clock: Clock,
        on_event: OnEvent = _nothing,
        new_holder: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        """`credentials` are those that the settings of the moment allow. `on_event` hears of rotated credentials, and
        of those that could not be written where they belong; never a secret.
        """
        rows = TokenRows(database, seal, clock=clock, new_holder=new_holder)
        self._renewal = Renewal(rows, credentials, clock=clock, on_event=on_event)
        self._where = where
        self._clock = clock
        self._held: Recent[str, Kept] = Recent(MOST_ACCOUNTS)
        self._dead: dict[str, _Dead] = {}
        self._flights: dict[str, asyncio.Task[Kept]] = {}
        self._debts: dict[str, asyncio.Task[None]] = {}
        self._settling: set[asyncio.Task[bool]] = set()

    async def start(self) -> None:
        """Nothing to get ready."""

    async def stop(self) -> None:
        """What is being asked is waited for, for a while. What is owed stays owed."""
        for debt in tuple(self._debts.values()):
            await end(debt)
        at_work = (*self._flights.values(), *self._settling)
        if at_work:
            await asyncio.wait(at_work, timeout=STOP_SECONDS)
        for task in at_work:
            await end(task)
        self._held.clear()

    async def access_token(self, invocation: Invocation, exchange: Exchange, *, refused: str = "") -> Secret:
        """See `TokenStore.access_token`."""
        account = invocation.target.account
        try:
            async with asyncio.timeout(invocation.deadline - self._clock.monotonic()):
                kept = await self._token(account, self._wish(invocation, exchange, refused))
        except TimeoutError as error:
            message = "The call's time was up before the vendor had given an access token."
            raise AdapterError(ErrorKind.DEADLINE, message, happened=Happened.NO, fault=Fault.TIMEOUT) from error
        if kept.is_owed:
            self._owe(account, invocation.target.hosts)
        token = Secret(kept.token)
        invocation.learn(token)
        return token

    def _wish(self, invocation: Invocation, exchange: Exchange, refused: str) -> Wish:
        lent = "" if invocation.credential is None else invocation.credential.reveal()
        place = self._place(invocation.target.account, invocation.target.hosts)
        if place is None:
            message = "The connection is not in the registry any more."
            raise AdapterError(ErrorKind.FORBIDDEN, message, happened=Happened.NO)
        return Wish(place=place, lent=lent, refused=refused, exchange=exchange)

    def _place(self, account: str, hosts: tuple[str, ...]) -> Place | None:
        found = self._where(account)
        if found is None:
            return None
        tenant, reference = found
        return Place(tenant, account.removeprefix(f"{tenant}/"), reference, hosts)

    async def _token(self, account: str, wish: Wish) -> Kept:
        held = self._held.get(account)
        if held is not None and not wish.refused and self._renewal.fits(held, wish):
            return held  # after a refusal the store is looked at: what is here may be older than what was refused
        self._check_alive(account, wish)
        while True:
            flight = self._flights.get(account)
            is_ours = flight is None
            if flight is None:
                flight = self._begin(account, wish)
            await asyncio.wait((flight,))
            kept = _result(flight, is_ours=is_ours)
            if kept is not None and (is_ours or kept.token != wish.refused):
                return kept  # one that began before the refusal may bring the same again

    def _begin(self, account: str, wish: Wish) -> "asyncio.Task[Kept]":
        flight = asyncio.get_running_loop().create_task(self._fly(account, wish))
        self._flights[account] = flight
        flight.add_done_callback(lambda done: self._landed(account, done))
        return flight

    async def _fly(self, account: str, wish: Wish) -> Kept:
        try:
            kept = await self._renewal.token(wish)
        except AdapterError as error:
            if error.kind is ErrorKind.NEEDS_AUTHORISATION:
                self._dead[account] = _Dead(error, digest(wish.lent), self._clock.monotonic() + DEAD_SECONDS)
            raise
        self._dead.pop(account, None)
        self._held.put(account, kept)
        return kept

    def _landed(self, account: str, flight: "asyncio.Task[Kept]") -> None:
        self._flights.pop(account, None)
        _heard(flight)

    def _check_alive(self, account: str, wish: Wish) -> None:
        dead = self._dead.get(account)
        if dead is None:
            return
        if dead.until <= self._clock.monotonic() or dead.of != digest(wish.lent):
            del self._dead[account]
            return
        raise _copy(dead.error)

    def _owe(self, account: str, hosts: tuple[str, ...]) -> None:
        """Write what is owed, in the background, until it is written. Harmless when somebody is at it."""
        if account not in self._debts:
            debt = asyncio.get_running_loop().create_task(self._pay(account, hosts))
            self._debts[account] = debt
            debt.add_done_callback(lambda _done: self._debts.pop(account, None))

    async def _pay(self, account: str, hosts: tuple[str, ...]) -> None:
        pause, is_paid = _FIRST_DEBT_SECONDS, False
        while not is_paid:
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LAST_DEBT_SECONDS)
            place = self._place(account, hosts)
            is_paid = place is None or await self._is_settled(place)
        held = self._held.get(account)
        if held is not None:
            self._held.put(account, replace(held, is_owed=False))

    async def _is_settled(self, place: Place) -> bool:
        """Whether nothing is owed any more. An end waits for it, and does not break it off."""
        settling = asyncio.get_running_loop().create_task(self._renewal.settle(place))
        self._settling.add(settling)
        settling.add_done_callback(self._settling.discard)
        settling.add_done_callback(_heard)
        await asyncio.wait((settling,))
        with contextlib.suppress(AdapterError):  # the next time may go well
            return settling.result()
        return False


@dataclass(frozen=True, slots=True)
class _Dead:
    """A vendor's no to a credential, and how long it is taken for one."""

    error: AdapterError
    of: str
    until: float


def _heard(task: "asyncio.Task[Kept] | asyncio.Task[bool]") -> None:
    """Nobody may be left to hear how it ended."""
    if not task.cancelled():
        task.exception()


def _result(flight: "asyncio.Task[Kept]", *, is_ours: bool) -> Kept | None:
    """What it came to, for one of several who waited for it. None when only the time of somebody else was up."""
    if flight.cancelled():
        message = "The gateway is stopping; try again at another one."
        raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO)
    error = flight.exception()
    if isinstance(error, AdapterError) and error.kind is ErrorKind.DEADLINE and not is_ours:
        return None
    if isinstance(error, AdapterError):
        raise _copy(error) from error
    return flight.result()


def _copy(error: AdapterError) -> AdapterError:
    """One for each who is told: an exception remembers who raised it."""
    return AdapterError(
        error.kind,
        error.message,
        happened=error.happened,
        fault=error.fault,
        retry_after_seconds=error.retry_after_seconds,
    )
