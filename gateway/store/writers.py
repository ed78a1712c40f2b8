"""The leases of the gateways that write for a tenant, and what becomes of the claims of one that is gone."""

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import select, update

from gateway.call import Standing
from gateway.store.database import Session, insert
from gateway.store.schema import idempotency, writers


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphan:
    """A claim whose writer is gone."""

    key: str
    call_id: str
    effect_id: str
    writer: str
    intent: bytes = field(repr=False)


async def hold(session: Session, writer: str, *, now: datetime, until: datetime) -> None:
    """The writer may write for this tenant until then."""
    row = {"tenant": session.tenant, "writer": writer, "started_at": now, "lease_until": until}
    await session.execute(
        insert(writers, session.dialect)
        .values(row)
        .on_conflict_do_update(index_elements=[writers.c.tenant, writers.c.writer], set_={"lease_until": until})
    )


async def close_orphans(session: Session, lapsed_before: datetime) -> list[Orphan]:
    """Every open claim of a writer whose lease ended before then is unknown from now on.

    Each is given to one caller alone, whichever of many replicas it is: who closes the row writes the line.
    """
    gone = select(writers.c.writer).where(writers.c.tenant == session.tenant, writers.c.lease_until < lapsed_before)
    is_orphan = (
        idempotency.c.tenant == session.tenant,
        idempotency.c.standing == Standing.IN_PROGRESS.value,
        idempotency.c.writer.in_(gone),
    )
    row = idempotency.c
    closed = await session.execute(
        update(idempotency)
        .where(*is_orphan)
        .values(standing=Standing.UNKNOWN.value)
        .returning(row.key, row.call_id, row.effect_id, row.writer, row.intent)
    )
    return [Orphan(**found._mapping) for found in closed]  # noqa: SLF001 - public, named so as to be no column
