"""The rows of a tenant's registry: tools, connections, agents. Each function is a part of a caller's transaction.

Whoever changes a row raises the registry's version in the same transaction: that is what replicas watch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    CompoundSelect,
    Row,
    Select,
    Table,
    and_,
    delete,
    literal,
    null,
    or_,
    select,
    text,
    union_all,
    update,
)

from gateway.errors import Refused, RefusedKind
from gateway.store.database import Session, insert
from gateway.store.schema import agents, connections, tenants, tools

CHANNEL = "tollhouse_registry"
"""What is notified on PostgreSQL: the name of a tenant whose registry changed, and nothing else."""


class RowKind(StrEnum):
    """What a row describes."""

    AGENT = "agent"
    CONNECTION = "connection"
    TOOL = "tool"


TO_PUT = (RowKind.CONNECTION, RowKind.TOOL, RowKind.AGENT)
"""The order in which rows of one change are put, since tools point at connections. Deletions go the other way."""
_TABLES: dict[RowKind, Table] = {RowKind.AGENT: agents, RowKind.CONNECTION: connections, RowKind.TOOL: tools}


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a connection's account has answered."""

    last_success_at: datetime | None = None
    last_error_at: datetime | None = None
    last_error: str = ""
    """The reason of the last error."""
    needs_authorisation: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRow:
    """One row."""

    kind: RowKind
    name: str
    version: int
    """Counts its changes, from 1."""
    document: bytes = field(repr=False)
    """As in a manifest: JSON with sorted keys."""
    updated_by: str
    updated_at: datetime
    health: Health | None = field(default=None, compare=False)
    """Of a connection alone."""

    @property
    def label(self) -> str:
        """`kind/name`."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRow:
    """A row that is to be put."""

    kind: RowKind
    name: str
    document: bytes = field(repr=False)
    connection: str = ""
    """The connection that a tool is bound to."""
    by: str
    at: datetime


async def versions(session: Session) -> dict[str, int]:
    """How often each tenant's registry was changed. For a transaction of nobody's, or of one tenant's."""
    found = await session.execute(select(tenants.c.tenant, tenants.c.registry_version))
    return {row.tenant: row.registry_version for row in found}


async def version(session: Session) -> int:
    """How often this tenant's registry was changed."""
    found = await session.execute(select(tenants.c.registry_version).where(tenants.c.tenant == session.tenant))
    return int(found.scalar_one())


async def raise_version(session: Session, *, only_from: int | None = None) -> int | None:
    """The registry's next version: whoever else would change this tenant's registry waits from here on, and every
    replica is told once the transaction is done. None, and nothing is changed, when it is not `only_from` now.
    """
    where = [tenants.c.tenant == session.tenant]
    if only_from is not None:
        where.append(tenants.c.registry_version == only_from)
    raised = await session.execute(
        update(tenants)
        .where(*where)
        .values(registry_version=tenants.c.registry_version + 1)
        .returning(tenants.c.registry_version)
    )
    found = raised.scalar_one_or_none()
    if found is not None and session.dialect == "postgresql":
        await session.execute(
            text("SELECT pg_notify(:channel, :tenant)"), {"channel": CHANNEL, "tenant": session.tenant}
        )
    return found


async def get(session: Session, kind: RowKind, name: str) -> StoredRow | None:
    """The row; None when there is none."""
    found = await session.execute(_select(session, kind).where(_TABLES[kind].c.name == name))
    row = found.first()
    return _stored(row) if row is not None else None


async def every(session: Session) -> tuple[StoredRow, ...]:
    """All rows as they are at one moment, by kind and name."""
    found = await session.execute(_all(session, tuple(RowKind)).order_by("kind", "name"))
    return tuple(_stored(row) for row in found)


async def page(
    session: Session, kinds: Sequence[RowKind], *, after: tuple[str, str] | None, limit: int
) -> tuple[StoredRow, ...]:
    """So many rows of these kinds, by kind and name; those that come after this kind and name."""
    rows = _all(session, kinds).subquery()
    wanted = select(rows).order_by(rows.c.kind, rows.c.name).limit(limit)
    if after is not None:
        kind, name = after
        wanted = wanted.where(or_(rows.c.kind > kind, and_(rows.c.kind == kind, rows.c.name > name)))
    return tuple(_stored(row) for row in await session.execute(wanted))


async def put(session: Session, row: NewRow, *, expected: int | None) -> int:
    """The row is as it is given; its version comes back. `expected` is the version that it must have, 0 for none;
    with None any will do. Raises `Refused`.
    """
    table = _TABLES[row.kind]
    values = _values(session, row)
    if expected:
        statement: Any = update(table).where(*_at(session, table, row.name), table.c.version == expected)
        statement = statement.values(_changed(table, values))
    else:
        made = insert(table, session.dialect).values(values)
        keys = [table.c.tenant, table.c.name]
        changed = _changed(table, values)
        statement = (
            made.on_conflict_do_nothing(index_elements=keys)
            if expected == 0
            else made.on_conflict_do_update(index_elements=keys, set_=changed)
        )
    found = (await session.execute(statement.returning(table.c.version))).scalar_one_or_none()
    if found is None:
        raise await _not_as_expected(session, row.kind, row.name, expected)
    return int(found)


async def remove(session: Session, kind: RowKind, name: str, *, expected: int | None) -> None:
    """The row is gone. Raises `Refused` when there is none, or it has not the version that it must have."""
    table = _TABLES[kind]
    where = _at(session, table, name)
    if expected is not None:
        where = (*where, table.c.version == expected)
    found = await session.execute(delete(table).where(*where).returning(table.c.version))
    if found.first() is None:
        raise await _not_as_expected(session, kind, name, expected)


def _values(session: Session, row: NewRow) -> dict[str, Any]:
    values: dict[str, Any] = {
        "tenant": session.tenant,
        "name": row.name,
        "version": 1,
        "document": row.document,
        "updated_by": row.by,
        "updated_at": row.at,
    }
    if row.kind is RowKind.TOOL:
        values["connection"] = row.connection or None
    if row.kind is RowKind.CONNECTION:
        values["needs_authorisation"] = False  # of an account that was changed nobody knows better yet
    return values


def _changed(table: Table, values: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in values.items() if name not in {"tenant", "name"}}
    return kept | {"version": table.c.version + 1}


def _at(session: Session, table: Table, name: str) -> tuple[Any, ...]:
    return table.c.tenant == session.tenant, table.c.name == name


async def _not_as_expected(session: Session, kind: RowKind, name: str, expected: int | None) -> Refused:
    found = await get(session, kind, name)
    if found is None:
        return Refused(RefusedKind.NOT_FOUND, f"There is no {kind} {name} in this tenant.")
    wanted = f"not {expected}" if expected else "should not be there"
    message = f"The {kind} {name} is at version {found.version} and {wanted}; look at it again before you change it."
    return Refused(RefusedKind.CONFLICT, message)


def _select(session: Session, kind: RowKind) -> Select[Any]:
    table = _TABLES[kind]
    names = ("last_success_at", "last_error_at", "last_error", "needs_authorisation")
    health = [table.c[name] if kind is RowKind.CONNECTION else null().label(name) for name in names]
    columns = (table.c.name, table.c.version, table.c.document, table.c.updated_by, table.c.updated_at)
    return select(literal(kind.value).label("kind"), *columns, *health).where(table.c.tenant == session.tenant)


def _all(session: Session, kinds: Sequence[RowKind]) -> CompoundSelect[Any]:
    """One statement, so that it sees one moment. Connections first: they say of which type each column is."""
    in_order = sorted(kinds, key=TO_PUT.index)
    return union_all(*(_select(session, kind) for kind in in_order))


def _stored(row: Row[Any]) -> StoredRow:
    kind = RowKind(row.kind)
    health = None
    if kind is RowKind.CONNECTION:
        health = Health(
            last_success_at=row.last_success_at,
            last_error_at=row.last_error_at,
            last_error=row.last_error or "",
            needs_authorisation=row.needs_authorisation,
        )
    return StoredRow(
        kind=kind,
        name=row.name,
        version=row.version,
        document=row.document,
        updated_by=row.updated_by,
        updated_at=row.updated_at,
        health=health,
    )
