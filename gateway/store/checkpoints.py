"""Signed checkpoints of a tenant's audit, over all replicas: numbered from 1, never changed, never taken away."""

from typing import NamedTuple

from sqlalchemy import Select, insert, select

from gateway.store.columns import moment_of
from gateway.store.database import Session
from gateway.store.schema import audit_checkpoints


class Kept(NamedTuple):
    """One checkpoint."""

    number: int
    note: bytes


async def keep(session: Session, number: int, note: bytes, now: float) -> None:
    """The checkpoint is kept. `now` is in seconds since the epoch.

    Raises `StoreRefused` when there is one of this number already: another replica was first.
    """
    row = {"tenant": session.tenant, "number": number, "note": note, "made_at": moment_of(now)}
    await session.execute(insert(audit_checkpoints).values(row))


async def latest(session: Session) -> Kept | None:
    """The last one; None when there is none yet."""
    found = await session.execute(_kept(session).order_by(audit_checkpoints.c.number.desc()).limit(1))
    row = found.first()
    return Kept(row.number, row.note) if row is not None else None


async def every(session: Session, after: int = 0) -> list[Kept]:
    """All that have a higher number, oldest first."""
    found = await session.execute(
        _kept(session).where(audit_checkpoints.c.number > after).order_by(audit_checkpoints.c.number)
    )
    return [Kept(row.number, row.note) for row in found]


def _kept(session: Session) -> Select[tuple[int, bytes]]:
    table = audit_checkpoints
    return select(table.c.number, table.c.note).where(table.c.tenant == session.tenant)
