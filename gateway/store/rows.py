"""The rows of a tenant's registry: tools, connections, agents. Each function is a part of a caller's transaction.

Whoever changes a row raises the registry's version in the same transaction: that is what replicas watch.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

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


_AT_ONCE = 500
"""Rows in one statement: the databases bound what one may hold."""
T = TypeVar("T")
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
    rows: list[StoredRow] = []
    while some := found.fetchmany(_AT_ONCE):
        rows += map(_stored, some)
        await asyncio.sleep(0)  # ten thousand of them in one go would hold up every call
    return tuple(rows)


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


async def change(session: Session, row: NewRow, *, expected: int) -> None:
    """A row that is there is as it is given; its version is one more than `expected`. Raises `Refused` when it was not
    at that version, or is not there.
    """
    table = _TABLES[row.kind]
    kept = {name: value for name, value in _values(session, row).items() if name not in {"tenant", "name"}}
    where = (table.c.tenant == session.tenant, table.c.name == row.name, table.c.version == expected)
    changed = update(table).where(*where).values(kept | {"version": expected + 1}).returning(table.c.version)
    if (await session.execute(changed)).first() is None:
        raise await _not_as_expected(session, row.kind, row.name, expected)


async def create(session: Session, kind: RowKind, rows: Sequence[NewRow]) -> None:
    """Rows of one kind that are not there yet. Raises `Refused` when one is."""
    table = _TABLES[kind]
    for some in _chunks(rows):
        made = insert(table, session.dialect).values([_values(session, row) for row in some])
        made = made.on_conflict_do_nothing(index_elements=[table.c.tenant, table.c.name])
        names = {row.name for row in await session.execute(made.returning(table.c.name))}
        for row in some:
            if row.name not in names:
                raise await _not_as_expected(session, kind, row.name, 0)


async def remove(session: Session, kind: RowKind, names: Sequence[str]) -> None:
    """Rows of one kind are gone. Raises `Refused` when one is not there."""
    table = _TABLES[kind]
    for some in _chunks(names):
        where = (table.c.tenant == session.tenant, table.c.name.in_(some))
        found = {row.name for row in await session.execute(delete(table).where(*where).returning(table.c.name))}
        for name in some:
            if name not in found:
                raise await _not_as_expected(session, kind, name, None)


def _chunks(all_of_them: Sequence[T]) -> Iterator[Sequence[T]]:
    return (all_of_them[start : start + _AT_ONCE] for start in range(0, len(all_of_them), _AT_ONCE))


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
    fields: tuple[Any, ...] = tuple(row)
    kind, name, version, document, by, at, success_at, error_at, error, needs = fields  # by name costs thrice the time
    health = None
    if kind == RowKind.CONNECTION:
        health = Health(
            last_success_at=success_at, last_error_at=error_at, last_error=error or "", needs_authorisation=bool(needs)
        )
    return StoredRow(
        kind=_KINDS[kind],
        name=name,
        version=version,
        document=document,
        updated_by=by,
        updated_at=at,
        health=health,
    )


_KINDS = {kind.value: kind for kind in RowKind}
