"""Changes of a tenant's registry: checked as a whole registry, by the checks of a start, and made all or none."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import orjson

from adapters.base import Clock
from gateway.documents import Problem
from gateway.errors import Refused, RefusedKind
from gateway.references import BadReference, parse_reference
from gateway.registry.catalogue import Catalogue
from gateway.registry.stored import StoredRegistry
from gateway.settings.load import Settings
from gateway.store import rows as store
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.rows import Health, NewRow, RowKind, StoredRow

Against = Callable[[Catalogue, Catalogue], Awaitable[tuple[str, ...]]]
"""What others have against a registry of one tenant that comes after another: policy that would be too slow, a
credential that is not there. One sentence each.
"""


_SCHEMES = frozenset({"env", "file", "vault", "vault-dynamic"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One row that is to be put, or deleted when it has no document."""

    kind: RowKind
    name: str
    document: bytes | None = field(default=None, repr=False)
    """As it is stored (`gateway.registry.written.document_of`)."""
    expected: int | None = None
    """The version that the row must have; 0: there must be none; None: whatever it is."""

    @property
    def label(self) -> str:
        """`kind/name`."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIssue:
    """What is wrong with a row: where in its document, which rule, a sentence."""

    row: str
    path: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One tenant's registry at one moment."""

    version: int
    rows: tuple[StoredRow, ...] = field(repr=False)
    by_name: Mapping[tuple[RowKind, str], StoredRow] = field(repr=False)

    def row(self, kind: RowKind, name: str) -> StoredRow | None:
        """The row; None when there is none."""
        return self.by_name.get((kind, name))


class Changes:
    """Makes changes. Every method raises `StoreDown` when the store does not answer."""

    def __init__(
        self,
        database: Database,
        registry: StoredRegistry,
        *,
        settings: Callable[[], Settings],
        clock: Clock,
        against: Against,
    ) -> None:
        self._database = database
        self._registry = registry
        self._settings = settings
        self._clock = clock
        self._against = against

    async def state(self, tenant: str) -> State:
        """The registry as it is now."""
        async with self._database.tenant(tenant, is_read=True) as session:
            version = await store.version(session)  # before the rows: they are as new as that at least
            rows = await store.every(session)
        return State(version=version, rows=rows, by_name={(row.kind, row.name): row for row in rows})

    async def issues(self, tenant: str, state: State, changes: Sequence[Change]) -> tuple[RowIssue, ...]:
        """What would be wrong with the registry after the changes; empty when they may be made. Warnings are left out.

        Raises `Refused` when a row has not the version that it must have.
        """
        for change in changes:
            _demand(change, state.row(change.kind, change.name))
        settings, after = self._settings(), _after(state.rows, changes)
        loaded = await asyncio.to_thread(self._registry.check, tenant, after, settings)
        if loaded.catalogue is None:
            return tuple(_issue(problem) for problem in loaded.problems if not problem.is_warning)
        against = await self._against(self._registry.held(tenant), loaded.catalogue)
        return tuple(RowIssue(row="", path="", rule="not_usable", message=sentence) for sentence in against)

    async def make(self, tenant: str, state: State, changes: Sequence[Change], by: str) -> tuple[StoredRow, ...] | None:
        """The rows that were put, once all of the changes are made. None when the registry is not in that state any
        more; nothing was changed then.
        """
        now = moment_of(self._clock.now())
        put = [change for change in changes if change.document is not None]
        async with self._database.tenant(tenant) as session:
            if await store.raise_version(session, only_from=state.version) is None:
                return None
            await self._put(session, state, put, by, now)
            for kind in reversed(store.TO_PUT):
                gone = [change.name for change in changes if change.document is None and change.kind is kind]
                await store.remove(session, kind, gone)
        return tuple(_made(change, state, by, now) for change in put)

    async def _put(self, session: Session, state: State, changes: Sequence[Change], by: str, now: datetime) -> None:
        """Nothing before what it points at."""
        for kind in store.TO_PUT:
            of_kind = [change for change in changes if change.kind is kind]
            new = [_new(change, by, now) for change in of_kind if state.row(kind, change.name) is None]
            await store.create(session, kind, new)
            for change in of_kind:
                if (row := state.row(kind, change.name)) is not None:
                    await store.change(session, _new(change, by, now), expected=row.version)


def visible_to_policy(document: bytes | None) -> bytes:
    """A row as policy may see it: JSON, without what stands where a credential's reference should and is none."""
    if document is None:
        return b"null"
    value = orjson.loads(document)
    if not _is_reference(value.get("credential")):
        value.pop("credential", None)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _is_reference(value: object) -> bool:
    try:
        return parse_reference(str(value)).scheme in _SCHEMES
    except BadReference:
        return False


def _demand(change: Change, row: StoredRow | None) -> None:
    """Return when the row is as the change has it. Raises `Refused`."""
    found = 0 if row is None else row.version
    if change.document is None and row is None:
        raise Refused(RefusedKind.NOT_FOUND, f"There is no {change.kind} {change.name} in this tenant.")
    if change.expected is None or change.expected == found:
        return
    wanted = f"not at version {change.expected}" if change.expected else "should not be there"
    found_as = f"is at version {found}" if found else "is not there"
    message = f"The {change.kind} {change.name} {found_as} and {wanted}; look at it again before you change it."
    raise Refused(RefusedKind.CONFLICT, message)


def _after(rows: Sequence[StoredRow], changes: Sequence[Change]) -> tuple[StoredRow, ...]:
    """The rows as they would be. Who changed them, and when, matters to no check."""
    found = {(row.kind, row.name): row for row in rows}
    for change in changes:
        if change.document is None:
            found.pop((change.kind, change.name), None)
        else:
            found[change.kind, change.name] = StoredRow(
                kind=change.kind,
                name=change.name,
                version=0,
                document=change.document,
                updated_by="",
                updated_at=moment_of(0),
            )
    return tuple(found[key] for key in sorted(found))


def _new(change: Change, by: str, now: datetime) -> NewRow:
    assert change.document is not None
    connection = ""
    if change.kind is RowKind.TOOL:
        connection = str(orjson.loads(change.document)["binding"]["connection"])
    return NewRow(kind=change.kind, name=change.name, document=change.document, connection=connection, by=by, at=now)


def _made(change: Change, state: State, by: str, now: datetime) -> StoredRow:
    """The row as it is in the store now."""
    assert change.document is not None
    before = state.row(change.kind, change.name)
    known = Health() if before is None or before.health is None else before.health
    return StoredRow(
        kind=change.kind,
        name=change.name,
        version=1 if before is None else before.version + 1,
        document=change.document,
        updated_by=by,
        updated_at=now,
        health=replace(known, needs_authorisation=False) if change.kind is RowKind.CONNECTION else None,
    )


def _issue(problem: Problem) -> RowIssue:
    return RowIssue(row=problem.file, path=problem.path, rule=problem.rule, message=problem.message)


def digest_of(document: bytes) -> str:
    """`sha256:` and the hex digest of a stored row."""
    return f"sha256:{hashlib.sha256(document).hexdigest()}"
