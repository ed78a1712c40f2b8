"""Idempotency keys in the store: durable, and the same for every replica.

Claim and intent are one row. What became of an effect may be found out while the store does not answer; it is
then owed, told to the store before its key is used here again, and by `mend` in any case.
"""

import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from adapters.base import Clock, Fault
from gateway.call import Known, Result, Whose
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.keys import is_own_key
from gateway.idempotency.taking import ApprovalUnusable, Entry, TooMuch, take, undo
from gateway.outcomes import OutcomeUnreadable, decode_result, encode
from gateway.store import budgets, runs
from gateway.store import keys as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.keys import KEEP_SECONDS
from gateway.store.sealing import Seal, SealBroken
from gateway.store.unknowns import ARGUMENTS_PLACE
from gateway.store.writers import hold

KEEP_OWN_SECONDS = 60 * 60.0
"""How long a key is remembered that nobody can repeat: until whoever comes back after a crash has told of the call."""
LEASE_SECONDS = 30.0
"""How long a writer may write without saying that it is still there."""
_RENEW_SECONDS = 10.0
_Pay = Callable[[Session], Coroutine[Any, Any, None]]


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

        Raises `StoreDown` and `StoreRefused` once every tenant had its turn; what is owed then is owed still.
        """
        failures = []
        for one in tuple(self._tenants.values()):
            try:
                await one.mend()
            except (StoreDown, StoreRefused) as failure:
                failures.append(failure)
        if failures:
            raise failures[0]


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
        self._covered: set[tuple[str, str]] = set()
        """The open claims under which the lease was never over, by key and call."""

    @property
    def owed(self) -> int:
        """How many effects the store has not heard the end of."""
        return len(self._owed)

    @property
    def is_held(self) -> bool:
        """Whether this writer's lease is good. Without it other replicas call its open claims unknown."""
        return self._clock.now() < self._held_until

    def holds(self, claim: Claim) -> bool:
        """Whether the lease has been good ever since the claim. One that was over in between is no help when it is
        renewed: others have had the time to close the claim.
        """
        return self.is_held and _at(claim) in self._covered

    def is_owed(self, claim: Claim) -> bool:
        """Whether the store has still to hear what became of the claim. As long as it has not, others may close it."""
        return _at(claim) in self._owed

    async def look(self, key: str) -> Known | None:
        """What is known of the key; None when it is free. Raises `Refusal(store_unavailable)`."""
        try:
            await self._pay(key)
            now = self._now()
            kept = await self._database.run(self._tenant, lambda session: rows.find(session, key, now), is_read=True)
        except (StoreDown, StoreRefused) as failure:
            raise _unavailable(failure) from failure
        return None if kept is None else await self._known(key, kept)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key, reserve the charges, use the approval and make the intent durable: all or nothing.

        None when the key is ours, or what is known when somebody was faster. Raises `Refusal`; nothing may be sent
        then: `store_unavailable`, `budget_spent`, `cap_reached`, `approval_mismatch`.
        """
        try:
            await self._pay(claim.key)
            sealed = await self._sealed_arguments(claim)
            kept = await self._take(claim, intent, sealed)
        except (StoreDown, StoreRefused) as failure:
            raise _unavailable(failure) from failure
        except TooMuch as much:
            raise much.charge.refusal(self._clock.now()) from much
        except ApprovalUnusable as unusable:
            message = "The approval of this call is over, was used, or is for something else. Ask for it again."
            raise Refusal(Reason.APPROVAL_MISMATCH, message) from unusable
        return None if kept is None else await self._known(claim.key, kept)

    async def settle(self, claim: Claim, result: Result | None) -> Whose:
        """The effect happened and what it reserved is spent; a repeated key gets this result, if there is one and it
        could be sealed. A key that nobody can repeat is soon forgotten.
        """
        is_own = is_own_key(claim.key, claim.call_id)
        try:
            sealed = None if result is None or is_own else await self._sealed(claim.key, result)
        except BaseException:  # a cancelled caller: it happened all the same
            self._owe(claim, self._finished(claim, None), is_final=True)
            raise
        return await self._tell(claim, self._finished(claim, sealed), is_final=True)

    async def release(self, claim: Claim) -> Whose:
        """It is certain that nothing happened: the key is free again, and what it reserved."""

        async def free(session: Session) -> None:
            await rows.free(session, claim)
            if claim.charges:
                await budgets.release(session, claim.effect_id)

        return await self._tell(claim, free)

    async def leave_unknown(self, claim: Claim) -> Whose:
        """Nobody knows whether it happened: the key stays taken, and what it reserved."""
        return await self._tell(claim, lambda session: rows.leave(session, claim))

    async def mend(self) -> None:
        """Renew the lease, tell the store what it is owed, forget what is old. Raises `StoreDown`."""
        if self._is_due:
            until = self._until()
            async with self._database.tenant(self._tenant) as session:
                await self._renew(session, until)
            self._hold(until)
            async with self._database.tenant(self._tenant) as session:  # apart: it must not cost the lease
                await rows.purge(session, self._now())
                await budgets.purge(session, self._now())
                await runs.purge(session, self._now())
        for debt in tuple(self._owed.values()):
            with contextlib.suppress(StoreRefused):  # nothing that others should wait for
                await self._pay(debt.claim.key)

    async def _take(self, claim: Claim, intent: bytes, sealed: bytes | None) -> rows.Kept | None:
        is_taken = False
        entry, until = self._entry(intent, sealed), self._until()

        async def taken(session: Session) -> rows.Kept | None:
            nonlocal is_taken
            await self._renew(session, until)
            kept = await take(session, claim, entry)
            is_taken = kept is None
            return kept

        try:
            kept = await self._database.run(self._tenant, taken)
        except (StoreRefused, TooMuch, ApprovalUnusable):
            raise
        except BaseException:  # a cancelled caller as well: nothing was sent, whatever the store has done
            if is_taken:  # before that it was not asked to keep anything
                self._owe(claim, lambda session: self._undo(session, claim, intent))
            raise
        self._hold(until)
        if is_taken and self._clock.now() < until:
            self._covered.add(_at(claim))
        return kept

    @property
    def _is_due(self) -> bool:
        """Whether it is time to renew the lease."""
        return self._held_until - self._clock.now() <= LEASE_SECONDS - _RENEW_SECONDS

    def _until(self) -> float:
        """Until when the lease is to be held by a transaction that begins now."""
        if not self._is_due:
            return self._held_until
        if not self.is_held:
            self._covered.clear()
        return self._clock.now() + LEASE_SECONDS

    async def _renew(self, session: Session, until: float) -> None:
        """The lease is held until then once this transaction is done. Rarely written: every claim would wait."""
        if until > self._held_until:
            await hold(session, self._writer, now=moment_of(until - LEASE_SECONDS), until=moment_of(until))

    def _hold(self, until: float) -> None:
        """A transaction has renewed the lease; of two that did at once the later one counts."""
        self._held_until = max(self._held_until, until)

    async def _undo(self, session: Session, claim: Claim, intent: bytes) -> None:
        await undo(session, claim, self._entry(intent, None), moment_of(self._clock.now() + LEASE_SECONDS))

    def _entry(self, intent: bytes, sealed: bytes | None) -> Entry:
        return Entry(writer=self._writer, intent=intent, arguments=sealed, now=self._now())

    def _finished(self, claim: Claim, sealed: bytes | None) -> _Pay:
        now = self._clock.now()
        kept = KEEP_OWN_SECONDS if is_own_key(claim.key, claim.call_id) else self._keep_seconds
        at, until = moment_of(now), moment_of(now + kept)

        async def finish(session: Session) -> None:
            await rows.finish(session, claim, result=sealed, now=at, until=until)
            if claim.charges:
                await budgets.settle(session, claim.effect_id)

        return finish

    async def _tell(self, claim: Claim, pay: _Pay, *, is_final: bool = False) -> Whose:
        """Whose the line is, once the store knows what became of the claim, or owes to be told."""
        self._owe(claim, pay, is_final=is_final)
        return await self.whose(claim)

    async def whose(self, claim: Claim) -> Whose:
        """Whose the line of the claim is. Nobody closes a claim while its writer's lease is good, nor one that is
        settled. One that others see open they close once we are gone, however good our lease is now: a line of ours
        that was written already would be the first of two. A file of SQLite has no others.
        """
        try:
            with contextlib.suppress(StoreRefused):  # and will again: a line that waited for it would never be written
                await self._told(claim)
            is_closed = not self.holds(claim) and await self._is_anothers(claim)
        except (StoreDown, StoreRefused):
            is_ours = self._database.settings.is_sqlite and self.holds(claim)
            return Whose.OURS if is_ours else Whose.UNTOLD
        self._covered.discard(_at(claim))
        return Whose.ANOTHERS if is_closed else Whose.OURS

    async def _told(self, claim: Claim) -> None:
        """The store has heard what it was owed. A connection that broke meanwhile is no reason to give up."""
        try:
            await self._pay(claim.key)
        except StoreDown as down:
            if down.fault is Fault.TIMEOUT:
                raise
            await self._pay(claim.key)

    async def _is_anothers(self, claim: Claim) -> bool:
        return await self._database.run(self._tenant, lambda session: rows.is_anothers(session, claim), is_read=True)

    def _owe(self, claim: Claim, pay: _Pay, *, is_final: bool = False) -> None:
        at = _at(claim)
        if at not in self._owed or not self._owed[at].is_final:
            self._owed[at] = _Debt(claim=claim, is_final=is_final, pay=pay)

    async def _pay(self, key: str) -> None:
        """The store knows what it was owed of this key. Raises `StoreDown` and `StoreRefused`."""
        for at, debt in [(at, debt) for at, debt in self._owed.items() if debt.claim.key == key]:
            await self._database.run(self._tenant, debt.pay)
            if self._owed.get(at) is debt:
                del self._owed[at]

    async def _known(self, key: str, kept: rows.Kept) -> Known:
        return Known(
            standing=kept.standing,
            call_id=kept.call_id,
            effect_id=kept.effect_id,
            arguments_digest=kept.arguments_digest,
            result=None if kept.result is None else await self._opened(key, kept.result),
            approval_id=kept.approval_id,
        )

    async def _sealed_arguments(self, claim: Claim) -> bytes | None:
        """None when there are none to keep, or they cannot be sealed: then a person has to find out."""
        if not claim.arguments:
            return None
        try:
            return await self._seal.seal(self._tenant, ARGUMENTS_PLACE + claim.key, claim.arguments)
        except SealBroken:
            return None

    async def _sealed(self, key: str, result: Result) -> bytes | None:
        """None when it cannot be sealed: it happened all the same, and nothing is kept in the open."""
        try:
            return await self._seal.seal(self._tenant, key, encode(result))
        except SealBroken:
            return None

    async def _opened(self, key: str, sealed: bytes) -> Result | None:
        """None when it does not open any more: the key is done without its result."""
        try:
            return decode_result(await self._seal.open(self._tenant, key, sealed))
        except (SealBroken, OutcomeUnreadable):
            return None

    def _now(self) -> datetime:
        return moment_of(self._clock.now())


def _at(claim: Claim) -> tuple[str, str]:
    return claim.key, claim.call_id


def _unavailable(failure: StoreDown | StoreRefused) -> Refusal:
    fault = failure.fault if isinstance(failure, StoreDown) else Fault.REFUSED
    return Refusal(
        Reason.STORE_UNAVAILABLE,
        "What was done before cannot be looked up or written down now, and nothing was sent. Try again later.",
        fault=fault,
    )
