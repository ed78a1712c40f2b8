"""Idempotency keys in the store: durable, and the same for every replica.

Claim and intent are one row. What became of an effect may be found out while the store does not answer; it is
then owed, told to the store before its key is used here again, and by `mend` in any case.
"""

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from adapters.base import Clock
from gateway.call import Known, Result
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.journal import KEEP_SECONDS
from gateway.idempotency.keys import is_own_key
from gateway.idempotency.results import ResultUnreadable, decode, encode
from gateway.store import keys as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import Seal, SealBroken
from gateway.store.writers import hold

LEASE_SECONDS = 30.0
"""How long a writer may write without saying that it is still there."""
_RENEW_SECONDS = 10.0
_Pay = Callable[[Session], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Debt:
    """What the store has not heard yet. A final one is what happened, and nothing may take its place."""

    claim: Claim
    is_final: bool
    pay: _Pay = field(repr=False)


class StoreKeys:
    """The keys of every tenant. `writer` names this process and no other."""

    def __init__(
        self, database: Database, *, writer: str, clock: Clock, seal: Seal, keep_seconds: float = KEEP_SECONDS
    ) -> None:
        self._database = database
        self._writer = writer
        self._clock = clock
        self._seal = seal
        self._keep_seconds = keep_seconds
        self._tenants: dict[str, TenantKeys] = {}

    def of(self, tenant: str) -> "TenantKeys":
        """The keys of one tenant: the same object every time."""
        if tenant not in self._tenants:
            self._tenants[tenant] = TenantKeys(
                self._database,
                tenant,
                writer=self._writer,
                clock=self._clock,
                seal=self._seal,
                keep_seconds=self._keep_seconds,
            )
        return self._tenants[tenant]

    @property
    def owed(self) -> int:
        """How many effects the store has not heard the end of."""
        return sum(one.owed for one in self._tenants.values())

    async def mend(self) -> None:
        """Renew the leases, tell the store what it is owed, forget what is old. Call it every second or so.

        Raises `StoreDown`; what is owed then is owed still.
        """
        for one in tuple(self._tenants.values()):
            await one.mend()


class TenantKeys:
    """`Keys` of one tenant."""

    def __init__(
        self, database: Database, tenant: str, *, writer: str, clock: Clock, seal: Seal, keep_seconds: float
    ) -> None:
        self._database = database
        self._tenant = tenant
        self._writer = writer
        self._clock = clock
        self._seal = seal
        self._keep_seconds = keep_seconds
        self._owed: dict[tuple[str, str], _Debt] = {}
        """By key and call: two calls that want one key owe apart."""
        self._held_until = 0.0

    @property
    def owed(self) -> int:
        """How many effects the store has not heard the end of."""
        return len(self._owed)

    @property
    def is_held(self) -> bool:
        """Whether this writer's lease is good. Without it other replicas call its open claims unknown."""
        return self._clock.now() < self._held_until

    async def look(self, key: str) -> Known | None:
        """What is known of the key; None when it is free. Raises `Refusal(journal_unavailable)`."""
        try:
            await self._pay(key)
            async with self._database.tenant(self._tenant, is_read=True) as session:
                kept = await rows.find(session, key, self._now())
        except (StoreDown, StoreRefused) as failure:
            raise _unavailable(failure) from failure
        return None if kept is None else await self._known(key, kept)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key and make the intent durable, both or neither.

        None when the key is ours, or what is known when somebody was faster. Raises
        `Refusal(journal_unavailable)`; nothing may be sent then.
        """
        try:
            await self._pay(claim.key)
            kept = await self._take(claim, intent)
        except (StoreDown, StoreRefused) as failure:
            raise _unavailable(failure) from failure
        return None if kept is None else await self._known(claim.key, kept)

    async def settle(self, claim: Claim, result: Result | None) -> None:
        """The effect happened; a repeated key gets this result, if there is one and it could be sealed.

        A key that nobody can repeat is forgotten at once.
        """
        if is_own_key(claim.key, claim.call_id):
            await self._tell(claim, lambda session: rows.free(session, claim), is_final=True)
            return
        try:
            sealed = None if result is None else await self._sealed(claim.key, result)
        except BaseException:  # a cancelled caller: it happened all the same
            self._owe(claim, self._finished(claim, None), is_final=True)
            raise
        await self._tell(claim, self._finished(claim, sealed), is_final=True)

    async def release(self, claim: Claim) -> None:
        """It is certain that nothing happened: the key is free again."""
        await self._tell(claim, lambda session: rows.free(session, claim))

    async def leave_unknown(self, claim: Claim) -> None:
        """Nobody knows whether it happened: the key stays taken."""
        await self._tell(claim, lambda session: rows.leave(session, claim))

    async def mend(self) -> None:
        """Renew the lease, tell the store what it is owed, forget what is old. Raises `StoreDown`."""
        if self._is_due:
            async with self._database.tenant(self._tenant) as session:
                until = await self._renewed(session)
                await rows.purge(session, self._now())
            self._held_until = until
        for debt in tuple(self._owed.values()):
            with contextlib.suppress(StoreRefused):  # nothing that others should wait for
                await self._pay(debt.claim.key)

    async def _take(self, claim: Claim, intent: bytes) -> rows.Kept | None:
        try:
            async with self._database.tenant(self._tenant) as session:
                until = await self._renewed(session)
                kept = await rows.take(session, claim, writer=self._writer, intent=intent, now=self._now())
        except StoreRefused:
            raise
        except BaseException:  # a cancelled caller as well: nothing was sent, whatever the store has done
            self._owe(claim, lambda session: self._undo(session, claim, intent))
            raise
        self._held_until = until
        return kept

    async def _undo(self, session: Session, claim: Claim, intent: bytes) -> None:
        """Free a key of which nobody knows whether the store gave it to us. A transaction that a slow server has
        still to end would take it after we had freed it; taking it ourselves waits for that one.
        """
        await hold(session, self._writer, now=self._now(), until=moment_of(self._clock.now() + LEASE_SECONDS))
        await rows.take(session, claim, writer=self._writer, intent=intent, now=self._now())
        await rows.free(session, claim)

    @property
    def _is_due(self) -> bool:
        """Whether it is time to renew the lease."""
        return self._held_until - self._clock.now() <= LEASE_SECONDS - _RENEW_SECONDS

    async def _renewed(self, session: Session) -> float:
        """Until when the lease is held once this transaction is done. Rarely written: every claim would wait."""
        if not self._is_due:
            return self._held_until
        now = self._clock.now()
        await hold(session, self._writer, now=moment_of(now), until=moment_of(now + LEASE_SECONDS))
        return now + LEASE_SECONDS

    def _finished(self, claim: Claim, sealed: bytes | None) -> _Pay:
        now = self._clock.now()
        at, until = moment_of(now), moment_of(now + self._keep_seconds)
        return lambda session: rows.finish(session, claim, result=sealed, now=at, until=until)

    async def _tell(self, claim: Claim, pay: _Pay, *, is_final: bool = False) -> None:
        self._owe(claim, pay, is_final=is_final)
        try:
            await self._pay(claim.key)
        except (StoreDown, StoreRefused):
            return  # it is owed

    def _owe(self, claim: Claim, pay: _Pay, *, is_final: bool = False) -> None:
        at = (claim.key, claim.call_id)
        if at not in self._owed or not self._owed[at].is_final:
            self._owed[at] = _Debt(claim=claim, is_final=is_final, pay=pay)

    async def _pay(self, key: str) -> None:
        """The store knows what it was owed of this key. Raises `StoreDown` and `StoreRefused`."""
        for at, debt in [(at, debt) for at, debt in self._owed.items() if debt.claim.key == key]:
            async with self._database.tenant(self._tenant) as session:
                await debt.pay(session)
            if self._owed.get(at) is debt:
                del self._owed[at]

    async def _known(self, key: str, kept: rows.Kept) -> Known:
        return Known(
            standing=kept.standing,
            call_id=kept.call_id,
            effect_id=kept.effect_id,
            arguments_digest=kept.arguments_digest,
            result=None if kept.result is None else await self._opened(key, kept.result),
        )

    async def _sealed(self, key: str, result: Result) -> bytes | None:
        """None when it cannot be sealed: it happened all the same, and nothing is kept in the open."""
        try:
            return await self._seal.seal(self._tenant, key, encode(result))
        except SealBroken:
            return None

    async def _opened(self, key: str, sealed: bytes) -> Result | None:
        """None when it does not open any more: the key is done without its result."""
        try:
            return decode(await self._seal.open(self._tenant, key, sealed))
        except (SealBroken, ResultUnreadable):
            return None

    def _now(self) -> datetime:
        return moment_of(self._clock.now())


def _unavailable(failure: StoreDown | StoreRefused) -> Refusal:
    fault = failure.fault if isinstance(failure, StoreDown) else None
    return Refusal(
        Reason.JOURNAL_UNAVAILABLE,
        "What was done before cannot be looked up or written down now, and nothing was sent. Try again later.",
        fault=fault,
    )
