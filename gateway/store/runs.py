"""The rows of runs that a trusted runtime opened. Each function is a part of a caller's transaction."""

import functools
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Executable, bindparam, delete, select

from gateway.store.database import Session, insert
from gateway.store.schema import runs


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run. `intent` is sealed."""

    agent: str
    run_id: str
    intent: bytes = field(repr=False)
    intent_digest: str
    opened_by: str
    opened_at: datetime
    expires_at: datetime


async def put(session: Session, run: RunRow) -> RunRow:
    """The run that is open once the transaction is done: this one, or one that was opened before and is not over."""
    row = {name: getattr(run, name) for name in RunRow.__slots__} | {"tenant": session.tenant}
    await session.execute(_putting(session.dialect), row)
    # A conflict locks the row, so that it is there still.
    found = await find(session, run.agent, run.run_id, run.opened_at)
    return run if found is None else found


async def find(session: Session, agent: str, run_id: str, now: datetime) -> RunRow | None:
    """The run, while it is open."""
    key = {"at_tenant": session.tenant, "at_agent": agent, "at_run": run_id, "moment": now}
    row = (await session.execute(_FIND, key)).first()
    return None if row is None else RunRow(**row._mapping)  # noqa: SLF001 - public, named so as to be no column


async def purge(session: Session, now: datetime) -> None:
    """Runs that are over are gone."""
    await session.execute(_PURGE, {"at_tenant": session.tenant, "moment": now})


# Made once: putting one together costs as much as a round trip.
_ROW = runs.c
_OURS = _ROW.tenant == bindparam("at_tenant")
_FIND = select(*(column for column in runs.columns if column is not _ROW.tenant)).where(
    _OURS,
    _ROW.agent == bindparam("at_agent"),
    _ROW.run_id == bindparam("at_run"),
    _ROW.expires_at > bindparam("moment"),
)
_PURGE = delete(runs).where(_OURS, _ROW.expires_at <= bindparam("moment"))


@functools.cache
def _putting(dialect: str) -> Executable:
    """Takes the place of no run, or of one that is over."""
    made = insert(runs, dialect).values({column.name: bindparam(column.name) for column in runs.columns})
    return made.on_conflict_do_update(
        index_elements=[_ROW.tenant, _ROW.agent, _ROW.run_id],
        set_={column.name: made.excluded[column.name] for column in runs.columns if not column.primary_key},
        where=_ROW.expires_at <= made.excluded.opened_at,
    )
