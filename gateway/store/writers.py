"""The leases of the gateways that write for a tenant, and what becomes of the claims of one that is gone.

Who closes the claim of another writes the line of its call. Each function is a part of a caller's transaction.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import ColumnElement, delete, or_, select, update

from gateway.call import Standing
from gateway.store.database import Session, insert
from gateway.store.schema import closings, idempotency, writers

_ROW = idempotency.c


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaim:
    """A claim that is not settled. `intent` is what its line says, as JSON."""

    key: str = field(repr=False)
    call_id: str
    effect_id: str
    writer: str
    intent: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """How the effect of a call stands, what it was to be, and who claimed it."""

    standing: Standing
    intent: bytes | None = field(repr=False)
    writer: str


async def hold(session: Session, writer: str, *, now: datetime, until: datetime) -> None:
    """The writer may write for this tenant until then."""
    row = {"tenant": session.tenant, "writer": writer, "started_at": now, "lease_until": until}
    await session.execute(
        insert(writers, session.dialect)
        .values(row)
        .on_conflict_do_update(index_elements=[writers.c.tenant, writers.c.writer], set_={"lease_until": until})
    )


async def lapsed_claims(session: Session, lapsed_before: datetime) -> list[OpenClaim]:
    """Every open claim of a writer whose lease ended before then."""
    gone = select(writers.c.writer).where(writers.c.tenant == session.tenant, writers.c.lease_until < lapsed_before)
    return await _open_claims(session, _ROW.writer.in_(gone))


async def claims_of(session: Session, family: str, *, but: str) -> list[OpenClaim]:
    """Every open claim of the writers of one state directory, but of one: the process that asks."""
    ours = or_(_ROW.writer == family, _ROW.writer.startswith(f"{family}.", autoescape=True))
    return await _open_claims(session, ours & (_ROW.writer != but))


async def close(session: Session, claim: OpenClaim, kind: str, *, closed_by: str, now: datetime) -> bool:
    """Nobody knows what became of the claim, from now on. False when somebody was faster, and nothing is changed."""
    closed = await session.execute(
        update(idempotency)
        .where(
            _ROW.tenant == session.tenant,
            _ROW.key == claim.key,
            _ROW.call_id == claim.call_id,
            _ROW.standing == Standing.IN_PROGRESS.value,
        )
        .values(standing=Standing.UNKNOWN.value)
    )
    if not closed.rowcount:
        return False
    row = {"tenant": session.tenant, "call_id": claim.call_id, "kind": kind, "closed_by": closed_by, "closed_at": now}
    await session.execute(insert(closings, session.dialect).values(row).on_conflict_do_nothing())
    return True


async def closed_by(session: Session, calls: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Who closed which of these: by kind of line and call id."""
    rows = await session.execute(
        select(closings.c.kind, closings.c.call_id, closings.c.closed_by).where(
            closings.c.tenant == session.tenant, closings.c.call_id.in_({call_id for _kind, call_id in calls})
        )
    )
    found = {(row.kind, row.call_id): row.closed_by for row in rows}
    return {call: found[call] for call in calls if call in found}


async def standings(session: Session, call_ids: Collection[str]) -> dict[str, Stand]:
    """How the effects of these calls stand, as far as there is a row."""
    rows = await session.execute(
        select(_ROW.call_id, _ROW.standing, _ROW.intent, _ROW.writer).where(
            _ROW.tenant == session.tenant, _ROW.call_id.in_(call_ids)
        )
    )
    return {
        row.call_id: Stand(standing=Standing(row.standing), intent=row.intent, writer=row.writer or "") for row in rows
    }


async def forget_closings(session: Session, before: datetime) -> None:
    """Closings so old that whoever was gone then will not come back."""
    await session.execute(delete(closings).where(closings.c.tenant == session.tenant, closings.c.closed_at < before))


async def _open_claims(session: Session, of: ColumnElement[bool]) -> list[OpenClaim]:
    rows = await session.execute(
        select(_ROW.key, _ROW.call_id, _ROW.effect_id, _ROW.writer, _ROW.intent).where(
            _ROW.tenant == session.tenant, _ROW.standing == Standing.IN_PROGRESS.value, of
        )
    )
    return [OpenClaim(**found._mapping) for found in rows]  # noqa: SLF001 - public, named so as to be no column
