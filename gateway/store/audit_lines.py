"""Audit lines in the database: only ever inserted, each under its writer's number among the tenant's lines."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select

from gateway.store.database import Session, insert
from gateway.store.schema import audit_lines


class HeldLine(NamedTuple):
    """One row."""

    tenant: str
    writer: str
    seq: int
    line_seq: int
    hash: str
    line: bytes

    def __repr__(self) -> str:
        return f"HeldLine({self.writer}, {self.seq})"


async def hold(session: Session, lines: Sequence[HeldLine]) -> int:
    """The lines of one writer, all of the session's tenant, are in the table; those that were there are left alone.

    Returns 0, or the number of one under which another line stands: then nothing may be committed.
    """
    values = [line._asdict() for line in lines]
    await session.execute(insert(audit_lines, session.dialect).values(values).on_conflict_do_nothing())
    table = audit_lines.c
    found = await session.execute(
        select(table.seq, table.hash).where(
            table.tenant == session.tenant,
            table.writer == lines[0].writer,
            table.seq.in_([line.seq for line in lines]),
        )
    )
    held = {row.seq: row.hash for row in found}
    return next((line.seq for line in lines if held.get(line.seq) != line.hash), 0)


async def lines_of(session: Session, writer: str, after: int = 0) -> list[bytes]:
    """The tenant's lines of a writer with a higher number, oldest first, as they were written."""
    table = audit_lines.c
    found = await session.execute(
        select(table.line)
        .where(table.tenant == session.tenant, table.writer == writer, table.seq > after)
        .order_by(table.seq)
    )
    return [row.line for row in found]
