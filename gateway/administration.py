"""What operators do to the registry and to what is stopped: decided by policy, written down, and then done."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson

from adapters.base import Clock
from gateway.audit.base import LineKind
from gateway.audit.deeds import Deed, Deeds
from gateway.call import Principal
from gateway.errors import Refused, RefusedKind
from gateway.policy.admin import AdminAction, AdminFacts, AdminPolicy
from gateway.registry.changes import Change, Changes, RowIssue, State, digest_of, visible_to_policy
from gateway.store import rows as store_rows
from gateway.store import stops as store_stops
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.isolation import ONE_TENANT
from gateway.store.rows import RowKind, StoredRow
from gateway.store.stops import Stop, StopScope

MAYBE = "It may have been done: look before you ask again."
TRIES = 5
"""How often a change is checked again because somebody else's came in between."""

MANY = 20
"""Changes beyond which policy is asked about the first before each has a line of its own."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What came of changes: what is wrong, and then nothing was changed, or the rows that were put."""

    issues: tuple[RowIssue, ...] = ()
    rows: tuple[StoredRow, ...] = ()


class _Unsound(Refused):
    """The registry would not load."""

    def __init__(self, issues: tuple[RowIssue, ...]) -> None:
        super().__init__(RefusedKind.INVALID, "The registry would not load.")
        self.issues = issues


class Administration:
    """Every method raises `Refused` when it is not done, and nothing else that is foreseen."""

    def __init__(
        self,
        database: Database,
        *,
        policy: AdminPolicy,
        deeds: Deeds,
        changes: Changes | None,
        on_changed: Callable[[], None],
        clock: Clock,
    ) -> None:
        """Without `changes` the registry is read from files, and only what is stopped can be changed. `on_changed` is
        called when something was.
        """
        self._database = database
        self._policy = policy
        self._deeds = deeds
        self._changes = changes
        self._on_changed = on_changed
        self._clock = clock
        self._running: set[asyncio.Task[Any]] = set()

    async def apply(self, principal: Principal, wanted: Sequence[Change], *, validate_only: bool = False) -> Applied:
        """All of the changes are made, or none. With `validate_only` none is, and nothing is written down."""
        changes = self._changes
        if changes is None:
            message = "The registry of this gateway is read from files; set registry.source to store to change it here."
            raise Refused(RefusedKind.PRECONDITION, message)
        try:
            if validate_only:
                return await self._validated(changes, principal, wanted)
            return await self._detached(self._applied(changes, principal, wanted))
        except _Unsound as unsound:
            return Applied(issues=unsound.issues)

    async def row(self, principal: Principal, kind: RowKind, name: str) -> StoredRow:
        """One row."""
        await self._demand_reading(principal, AdminAction.REGISTRY_READ, kind, name)
        with _told(), _constrained():
            async with self._database.tenant(principal.tenant, is_read=True) as session:
                found = await store_rows.get(session, kind, name)
        if found is None:
            raise Refused(RefusedKind.NOT_FOUND, f"There is no {kind} {name} in this tenant.")
        return found

    async def rows(
        self, principal: Principal, kinds: Sequence[RowKind], *, after: tuple[str, str] | None, limit: int
    ) -> tuple[StoredRow, ...]:
        """So many rows of these kinds, after that kind and name."""
        kind = kinds[0].value if len(kinds) == 1 else ""
        await self._demand_reading(principal, AdminAction.REGISTRY_READ, kind)
        with _told(), _constrained():
            async with self._database.tenant(principal.tenant, is_read=True) as session:
                return await store_rows.page(session, kinds, after=after, limit=limit)

    async def set_stop(self, principal: Principal, scope: StopScope, name: str, reason: str) -> Stop:
        """It is stopped, on every replica within a second."""
        stop = Stop(scope=scope, name=name, reason=reason, set_by=principal.id, set_at=moment_of(self._clock.now()))
        await self._detached(self._stopped(principal, AdminAction.STOP_SET, stop))
        return stop

    async def clear_stop(self, principal: Principal, scope: StopScope, name: str, reason: str) -> None:
        """It is stopped no longer. Raises `Refused` also when it was not."""
        stop = Stop(scope=scope, name=name, reason=reason, set_by=principal.id, set_at=moment_of(self._clock.now()))
        await self._detached(self._stopped(principal, AdminAction.STOP_CLEAR, stop))

    async def stops(self, principal: Principal) -> tuple[Stop, ...]:
        """All that is stopped."""
        await self._demand_reading(principal, AdminAction.STOP_READ)
        with _told(), _constrained():
            async with self._database.tenant(principal.tenant, is_read=True) as session:
                return await store_stops.every(session)

    async def _validated(self, changes: Changes, principal: Principal, wanted: Sequence[Change]) -> Applied:
        with _told(), _constrained():
            state = await changes.state(principal.tenant)
        for change in wanted:
            await self._policy.demand(principal, self._facts(change, state, deed_id=""))
        return Applied(issues=await changes.issues(principal.tenant, state, wanted))

    async def _applied(self, changes: Changes, principal: Principal, wanted: Sequence[Change]) -> Applied:
        with _told(MAYBE):
            if len(wanted) > MANY:
                await self._knock(changes, principal, wanted)
            async with self._deeds_of(principal, [change.label for change in wanted]) as deeds:
                for _ in range(TRIES):
                    rows = await self._tried(changes, principal, wanted, deeds)
                    if rows is not None:
                        return Applied(rows=rows)
                raise Refused(RefusedKind.CONFLICT, "Others change the registry all the time; ask again.")

    async def _knock(self, changes: Changes, principal: Principal, wanted: Sequence[Change]) -> None:
        """Return when policy allows the first of many. Whoever may not even do that leaves one line, and not
        thousands.
        """
        with _told(), _constrained():
            state = await changes.state(principal.tenant)
        try:
            await self._policy.demand(principal, self._facts(wanted[0], state, deed_id=""))
        except Refused as refused:
            note = f"The first of {len(wanted)} changes."
            async with self._deeds.of(LineKind.ADMIN, principal, what=wanted[0].label, note=note) as deed:
                deed.tell(**_told_of(wanted[0], state))
                await self._policy.demand(principal, self._facts(wanted[0], state, deed_id=deed.id), deed.tell)
                raise refused from None  # policy has changed meanwhile: it was refused all the same

    async def _tried(
        self, changes: Changes, principal: Principal, wanted: Sequence[Change], deeds: Sequence[Deed]
    ) -> tuple[StoredRow, ...] | None:
        """The rows that were put; None when the registry changed meanwhile and nothing was done."""
        with _told(), _constrained():
            state = await changes.state(principal.tenant)
        await self._decide_on_all(principal, wanted, state, deeds)
        issues = await changes.issues(principal.tenant, state, wanted)
        if issues:
            raise _Unsound(issues)
        with _constrained():
            rows = await changes.make(principal.tenant, state, wanted, principal.id)
        if rows is not None:
            self._on_changed()
        return rows

    async def _decide_on_all(
        self, principal: Principal, wanted: Sequence[Change], state: State, deeds: Sequence[Deed]
    ) -> None:
        """Return when policy allows each. Every line tells of its own decision; one that is refused refuses all."""
        refused: list[Refused] = []
        for change, deed in zip(wanted, deeds, strict=True):
            deed.tell(**_told_of(change, state))
            try:
                await self._policy.demand(principal, self._facts(change, state, deed_id=deed.id), deed.tell)
            except Refused as one:
                refused.append(one)
            await asyncio.sleep(0)  # of ten thousand changes calls must not have to wait for the last
        if refused:
            raise refused[0]

    async def _stopped(self, principal: Principal, action: AdminAction, stop: Stop) -> None:
        label = f"stop/{stop.scope}/{stop.name}".rstrip("/")
        facts = AdminFacts(
            action=action,
            kind=stop.scope,
            name=stop.name,
            deed_id="",
            now=self._clock.now(),
            after_json=orjson.dumps({"reason": stop.reason}) if action is AdminAction.STOP_SET else b"null",
        )
        with _told(MAYBE):
            async with self._deeds.of(LineKind.ADMIN, principal, what=label, note=stop.reason) as deed:
                deed.tell(arguments=_text({"action": action, "scope": stop.scope, "name": stop.name}))
                await self._policy.demand(principal, replace(facts, deed_id=deed.id), deed.tell)
                await self._store(principal.tenant, action, stop)
        self._on_changed()

    async def _store(self, tenant: str, action: AdminAction, stop: Stop) -> None:
        async with self._changing(tenant) as session:
            if action is AdminAction.STOP_SET:
                await store_stops.put(session, stop)
            elif not await store_stops.clear(session, stop.scope, stop.name):
                raise Refused(RefusedKind.NOT_FOUND, f"Nothing stops the {stop.scope} {stop.name}".rstrip() + ".")

    @contextlib.asynccontextmanager
    async def _changing(self, tenant: str) -> AsyncIterator[Session]:
        """A transaction that every replica is told of."""
        with _constrained():
            async with self._database.tenant(tenant) as session:
                await store_rows.raise_version(session)
                yield session

    def _facts(self, change: Change, state: State, deed_id: str) -> AdminFacts:
        row = state.row(change.kind, change.name)
        return AdminFacts(
            action=AdminAction.REGISTRY_DELETE if change.document is None else AdminAction.REGISTRY_PUT,
            kind=change.kind,
            name=change.name,
            deed_id=deed_id,
            now=self._clock.now(),
            before_json=visible_to_policy(row.document if row is not None else None),
            after_json=visible_to_policy(change.document),
        )

    async def _demand_reading(self, principal: Principal, action: AdminAction, kind: str = "", name: str = "") -> None:
        """Return when policy lets the principal look. It leaves no line."""
        facts = AdminFacts(action=action, kind=kind, name=name, deed_id="", now=self._clock.now())
        await self._policy.demand(principal, facts)

    @contextlib.asynccontextmanager
    async def _deeds_of(self, principal: Principal, labels: Sequence[str]) -> AsyncIterator[list[Deed]]:
        """A deed for each, with a line of its own. They end together, so that they wait for the disk once."""
        managers = [self._deeds.of(LineKind.ADMIN, principal, what=label) for label in labels]
        deeds: list[Deed] = []
        try:
            for manager in managers:
                deeds.append(await manager.__aenter__())  # noqa: PERF401 - those that began are ended, if one does not
            yield deeds
        except BaseException as error:
            ended = (one.__aexit__(type(error), error, error.__traceback__) for one in managers[: len(deeds)])
            await asyncio.gather(*ended, return_exceptions=True)
            raise
        for failed in await asyncio.gather(
            *(manager.__aexit__(None, None, None) for manager in managers), return_exceptions=True
        ):
            if isinstance(failed, BaseException):
                raise failed

    async def _detached(self, work: Coroutine[Any, Any, T]) -> T:
        """What was begun comes to its end and has its lines, also when the caller leaves."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)


@contextlib.contextmanager
def _told(sentence: str = "Nothing was done; ask again later.") -> Iterator[None]:
    """That the store does not answer, as an operator is told."""
    try:
        yield
    except StoreDown as down:
        raise Refused(RefusedKind.UNAVAILABLE, f"The store cannot be used: {down}. {sentence}") from down


@contextlib.contextmanager
def _constrained() -> Iterator[None]:
    """That a constraint holds, as an operator is told."""
    try:
        yield
    except StoreRefused as refused:
        message = "The store refuses this; nothing was done."
        if refused.constraint == ONE_TENANT:
            message = "This gateway's database holds one tenant, and not this one; PostgreSQL holds many."
        raise Refused(RefusedKind.PRECONDITION, message) from refused


def _told_of(change: Change, state: State) -> dict[str, Any]:
    """What a line tells of a change: versions and digests, and nothing of the documents."""
    row = state.row(change.kind, change.name)
    before = {"version": row.version, "digest": digest_of(row.document)} if row is not None else None
    after = (
        {"version": row.version + 1 if row is not None else 1, "digest": digest_of(change.document)}
        if change.document is not None
        else None
    )
    action = AdminAction.REGISTRY_DELETE if change.document is None else AdminAction.REGISTRY_PUT
    return {
        "arguments": _text({"action": action, "before": before, "after": after}),
        "arguments_digest": after["digest"] if after is not None else "",
    }


def _text(value: dict[str, Any]) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
