"""The durable side of handles: rows that say how a call stands to whoever asks any replica for it.

How a call ended may be found out while the store does not answer. It is then owed, and told by `mend`; until then
this process remembers it.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from adapters.base import Clock
from gateway.audit.trail import outcome_word
from gateway.call import Answer, Failure, Pending, Result
from gateway.errors import Reason, Refusal
from gateway.handles.running import Running
from gateway.outcomes import OutcomeUnreadable, decode, encode
from gateway.settings.handles import HandleSettings
from gateway.store import calls as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import Seal, SealBroken, SealDown
from gateway.store.writers import hold

LEASE_SECONDS = 30.0
"""How long the store takes this process for alive without a word of it; as long again, and its calls are unknown."""
_RENEW_SECONDS = 10.0
SWEEP_SECONDS = 10.0
MOST_OWED = 1000
"""Ends of calls that are remembered for the store. Beyond that the oldest is let go: its row becomes unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class _Debt:
    """An end of which the store has not heard."""

    running: Running = field(repr=False)
    told: Callable[[], None]


class KeptCalls:
    """The rows of this gateway's handles. `writer` names this process and no other."""

    def __init__(self, database: Database, *, writer: str, clock: Clock, seal: Seal, settings: HandleSettings) -> None:
        self._database = database
        self._writer = writer
        self._clock = clock
        self._seal = seal
        self._settings = settings
        self._held_until: dict[str, float] = {}
        """Until when the lease is held, by tenant."""
        self._owed: dict[str, _Debt] = {}
        self._tenants: set[str] = set()
        self._sweep_at = 0.0

    @property
    def owed(self) -> int:
        """How many ends the store has not heard of."""
        return len(self._owed)

    def is_mine(self, kept: rows.Kept) -> bool:
        """Whether this process carries it out, or did."""
        return kept.writer == self._writer

    async def open(self, running: Running) -> None:
        """There is a row that says that the call is running. Raises `StoreDown` and `StoreRefused`."""
        tenant = running.principal.tenant
        async with self._database.tenant(tenant) as session:
            until = await self._renewed(session)
            await rows.open_call(session, self._opened(running))
        self._held_until[tenant] = until

    async def finish(self, running: Running, told: Callable[[], None]) -> None:
        """The row says how the call ended. Never raises: what the store does not hear now it is told later.
        `told` is called once it has heard.
        """
        self._owed[running.call_id] = _Debt(running, told)
        while len(self._owed) > MOST_OWED:
            self._owed.pop(next(iter(self._owed))).told()
        with contextlib.suppress(StoreDown, StoreRefused, SealDown):
            await self._pay(running.call_id)

    async def find(self, tenant: str, call_id: str) -> rows.Kept | None:
        """The call of this id. Raises `Refusal(store_unavailable)`."""
        with _unavailable():
            async with self._reading(tenant) as session:
                return await rows.find(session, call_id, self._now())

    async def find_by_key(self, tenant: str, key: str) -> rows.Kept | None:
        """The call of this scoped key. Raises `Refusal(store_unavailable)`."""
        with _unavailable():
            async with self._reading(tenant) as session:
                return await rows.find_by_key(session, key, self._now())

    async def outcome(self, tenant: str, kept: rows.Kept) -> Result | Failure | None:
        """How a finished call ended; None when that is not kept, or does not open any more.

        Raises `Refusal(store_unavailable)` when it cannot be opened now.
        """
        if kept.result is None:
            return None
        try:
            return decode(await self._seal.open(tenant, rows.place_of(kept.call_id), kept.result))
        except SealDown as down:
            raise _refusal() from down
        except (SealBroken, OutcomeUnreadable):
            return None

    async def ask_cancel(self, tenant: str, call_id: str) -> bool:
        """Its gateway is asked to stop the call. False when it is not running. Raises `Refusal(store_unavailable)`."""
        with _unavailable():
            async with self._database.tenant(tenant) as session:
                return await rows.ask_cancel(session, call_id, self._now())

    async def asked_to_cancel(self, tenants: Iterable[str]) -> list[str]:
        """The running calls of this process that somebody wants stopped. Raises `StoreDown`."""
        asked: list[str] = []
        for tenant in tenants:
            async with self._database.tenant(tenant, is_read=True) as session:
                asked += await rows.asked_to_cancel(session, self._writer)
        return asked

    async def mend(self, busy: Iterable[str]) -> None:
        """Renew the leases of tenants whose calls are at work, tell the store what it is owed, forget what is old.

        Raises `StoreDown`; what is owed then is owed still.
        """
        for tenant in busy:
            if self._is_due(tenant):
                async with self._database.tenant(tenant) as session:
                    until = await self._renewed(session)
                self._held_until[tenant] = until
        for call_id in tuple(self._owed):
            with contextlib.suppress(StoreRefused, SealDown):
                await self._pay(call_id)
        if self._clock.monotonic() >= self._sweep_at:
            self._sweep_at = self._clock.monotonic() + SWEEP_SECONDS
            for tenant in tuple(self._tenants):
                await self._sweep(tenant)

    async def _sweep(self, tenant: str) -> None:
        """Calls of gateways that are gone are unknown, and what is old is gone."""
        now = self._clock.now()
        async with self._database.tenant(tenant) as session:
            until = moment_of(now + self._settings.keep_seconds)
            await rows.close_lapsed(session, moment_of(now - LEASE_SECONDS), until=until)
            await rows.purge(session, moment_of(now))

    def _is_due(self, tenant: str) -> bool:
        return self._held_until.get(tenant, 0.0) - self._clock.now() <= LEASE_SECONDS - _RENEW_SECONDS

    async def _renewed(self, session: Session) -> float:
        """Until when the lease is held once this transaction is done: the row of a call points at it."""
        self._tenants.add(session.tenant)
        if not self._is_due(session.tenant):
            return self._held_until[session.tenant]
        now = self._clock.now()
        await hold(session, self._writer, now=moment_of(now), until=moment_of(now + LEASE_SECONDS))
        return now + LEASE_SECONDS

    def _reading(self, tenant: str) -> contextlib.AbstractAsyncContextManager[Session]:
        self._tenants.add(tenant)
        return self._database.tenant(tenant, is_read=True)

    def _opened(self, running: Running) -> rows.Opened:
        course, request, principal = running.course, running.request, running.principal
        tool = course.tool if course else None
        connection = course.connection if course else None
        arguments = course.arguments if course else None
        return rows.Opened(
            call_id=running.call_id,
            effect_id=running.effect_id,
            key=(course.key or None) if course else None,
            agent=principal.agent,
            principal=b"",  # nobody runs it again by its row, and the claims of a token are private
            tool=request.tool[:128],
            tool_version=tool.version if tool else "",
            connection=connection.name if connection else "",
            run_id=request.run_id[:128],
            arguments_digest=arguments.digest if arguments else "",
            writer=self._writer,
            created_at=self._now(),
        )

    async def _pay(self, call_id: str) -> None:
        """The store knows how the call ended. Raises `StoreDown`, `StoreRefused` and `SealDown`."""
        debt = self._owed.get(call_id)
        if debt is None:
            return
        answer = debt.running.answer
        if answer is not None and not isinstance(answer.outcome, Pending):  # a parked one's row is its approval's
            await self._told(debt.running, answer, answer.outcome)
        if self._owed.get(call_id) is debt:
            del self._owed[call_id]
            debt.told()

    async def _told(self, running: Running, answer: Answer, outcome: Result | Failure) -> None:
        sealed = await self._sealed(running.principal.tenant, answer.call_id, outcome)
        settings = self._settings
        seconds = settings.keep_seconds if running.has_effect else settings.keep_read_seconds
        until = moment_of(self._clock.now() + seconds)
        async with self._database.tenant(running.principal.tenant) as session:
            await rows.finish(
                session, answer.call_id, outcome=outcome_word(outcome), result=sealed, now=self._now(), until=until
            )

    async def _sealed(self, tenant: str, call_id: str, outcome: Result | Failure) -> bytes | None:
        """None when it cannot be sealed: nothing is kept in the open. Raises `SealDown`."""
        try:
            return await self._seal.seal(tenant, rows.place_of(call_id), encode(outcome))
        except SealDown:
            raise
        except SealBroken:
            return None

    def _now(self) -> datetime:
        return moment_of(self._clock.now())


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    try:
        yield
    except (StoreDown, StoreRefused) as failure:
        raise _refusal() from failure


def _refusal() -> Refusal:
    return Refusal(Reason.STORE_UNAVAILABLE, "How calls stand cannot be looked up now. Ask again later.")
