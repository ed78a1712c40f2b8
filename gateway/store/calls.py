"""The rows of calls that outlive the connection they came by. Each function is a part of a caller's transaction."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, case, delete, exists, insert, or_, select, update

from gateway.store.database import Session
from gateway.store.schema import approvals, calls, writers

RUNNING, PARKED, FINISHED, UNKNOWN = "running", "parked", "finished", "unknown"


def place_of(call_id: str) -> str:
    """Where what such a row keeps sealed is sealed."""
    return f"call:{call_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A call as it stands when its row is made. `arguments` is sealed; a parked call must have it."""

    call_id: str
    effect_id: str
    key: str | None = field(repr=False)
    """The scoped idempotency key; None for a call that has none."""
    agent: str
    principal: bytes = field(repr=False)
    tool: str
    tool_version: str
    connection: str
    run_id: str
    arguments_digest: str
    arguments: bytes | None = field(default=None, repr=False)
    state: str = RUNNING
    writer: str
    """Must hold a lease: who opens a row calls `writers.hold` in the same transaction, or has before."""
    created_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the row of a call says. `result` is sealed."""

    call_id: str
    effect_id: str
    key: str | None = field(repr=False)
    agent: str
    tool: str
    state: str
    outcome: str | None
    """How it ended, in the audit line's words; None while it has not."""
    result: bytes | None = field(repr=False)
    approval_id: str | None
    """What it waits for, or waited for last."""
    writer: str
    created_at: datetime
    cancel_asked_at: datetime | None
    finished_at: datetime | None


async def open_call(session: Session, call: Opened) -> None:
    """There is a row. One that is running, and is to be parked now, becomes that.

    Raises `StoreRefused` when there is another row of the call, or a parked call of the same key.
    """
    row = {"tenant": session.tenant, **{name: getattr(call, name) for name in _OPENED}}
    if call.state == PARKED:
        parked = await session.execute(_PARK, _at(session, call.call_id) | row)
        if parked.rowcount:
            return
    await session.execute(_OPEN, row)


async def find(session: Session, call_id: str, now: datetime) -> Kept | None:
    """The call; None when there is none, or its time is over. Who may see it is the caller's to decide."""
    found = await session.execute(_FIND, {"at_tenant": session.tenant, "at_call": call_id, "moment": now})
    row = found.first()
    return None if row is None else Kept(**row._mapping)  # noqa: SLF001 - public, named so as to be no column


async def find_by_key(session: Session, key: str, now: datetime) -> Kept | None:
    """The call that has this scoped key: one that has not ended, else the newest."""
    found = await session.execute(_FIND_BY_KEY, {"at_tenant": session.tenant, "at_key": key, "moment": now})
    row = found.first()
    return None if row is None else Kept(**row._mapping)  # noqa: SLF001 - as above


async def finish(
    session: Session, call_id: str, *, outcome: str, result: bytes | None, now: datetime, until: datetime
) -> bool:
    """The call ended so, and the row says it until then. `result` is sealed; the arguments are not kept.

    False when nothing changed: there is no such row, or it had ended. One whose end was unknown is finished all the
    same, for this is what happened: its writer was only silent, or somebody found out.
    """
    done = {"state": FINISHED, "outcome": outcome, "result": result, "finished_at": now, "expires_at": until}
    ended = await session.execute(_FINISH, _at(session, call_id) | done)
    return ended.rowcount > 0


async def leave(session: Session, call_id: str, *, until: datetime) -> bool:
    """Nobody knows how the call ended. False when it is not running."""
    left = await session.execute(_LEAVE, _at(session, call_id) | {"expires_at": until})
    return left.rowcount > 0


async def resume(session: Session, call_id: str, *, writer: str) -> bool:
    """A parked call is being carried out by this writer, which holds a lease. False when it is not parked: of many
    who ask at once, one gets True.
    """
    taken = await session.execute(_RESUME, _at(session, call_id) | {"writer": writer})
    return taken.rowcount > 0


async def ask_cancel(session: Session, call_id: str, now: datetime) -> bool:
    """Whoever carries the call out is asked to stop it. False when nobody does."""
    asked = await session.execute(_ASK_CANCEL, _at(session, call_id) | {"moment": now})
    return asked.rowcount > 0


async def asked_to_cancel(session: Session, writer: str) -> list[str]:
    """The running calls of a writer that somebody wants stopped."""
    found = await session.execute(_ASKED, {"at_tenant": session.tenant, "at_writer": writer})
    return [row.call_id for row in found]


async def close_lapsed(session: Session, lapsed_before: datetime, *, until: datetime) -> list[str]:
    """The running calls of writers whose lease ended before then: unknown from now on, and kept until `until`.

    Each is given to one caller alone, whichever of many replicas it is. One that an approval points at is left to
    whoever looks after approvals.
    """
    values = {"at_tenant": session.tenant, "lapsed": lapsed_before, "expires_at": until}
    closed = await session.execute(_CLOSE_LAPSED, values)
    return [row.call_id for row in closed]


async def purge(session: Session, now: datetime) -> None:
    """Ended calls whose time is over are gone. Of one that an approval points at only what was private goes."""
    values = {"at_tenant": session.tenant, "moment": now}
    await session.execute(_WIPE, values)
    await session.execute(_PURGE, values)


_ROW = calls.c
_OPENED = tuple(each.name for each in fields(Opened))

# Made once: putting one together costs as much as a round trip.
_OURS = _ROW.tenant == bindparam("at_tenant")
_AT = and_(_OURS, _ROW.call_id == bindparam("at_call"))
_IS_RUNNING = _ROW.state == RUNNING
_IS_ENDED = or_(_ROW.state == FINISHED, _ROW.state == UNKNOWN)
_IS_OVER = and_(_IS_ENDED, _ROW.expires_at <= bindparam("moment"))
_IS_THERE = or_(~_IS_ENDED, _ROW.expires_at.is_(None), _ROW.expires_at > bindparam("moment"))
_APPROVAL = (
    select(approvals.c.approval_id)
    .where(approvals.c.tenant == _ROW.tenant, approvals.c.call_id == _ROW.call_id)
    .order_by(approvals.c.created_at.desc(), approvals.c.approval_id)
    .limit(1)
    .correlate(calls)
    .scalar_subquery()
)
_KEPT = select(
    _ROW.call_id,
    _ROW.effect_id,
    _ROW.key,
    _ROW.agent,
    _ROW.tool,
    _ROW.state,
    _ROW.outcome,
    _ROW.result,
    _APPROVAL.label("approval_id"),
    _ROW.writer,
    _ROW.created_at,
    _ROW.cancel_asked_at,
    _ROW.finished_at,
)
_OPEN = insert(calls).values(
    {"tenant": bindparam("tenant"), **{name: bindparam(name, type_=_ROW[name].type) for name in _OPENED}}
)
_PARK = (
    update(calls)
    .where(_AT, _IS_RUNNING)
    .values({name: bindparam(name, type_=_ROW[name].type) for name in _OPENED if name != "call_id"})
)
_FIND = _KEPT.where(_AT, _IS_THERE)
_FIND_BY_KEY = (
    _KEPT.where(_OURS, _ROW.key == bindparam("at_key"), _IS_THERE)
    .order_by(case((_IS_ENDED, 1), else_=0), _ROW.created_at.desc(), _ROW.call_id)
    .limit(1)
)
_FINISH = (
    update(calls)
    .where(_AT, or_(_ROW.state != FINISHED, _ROW.outcome == UNKNOWN))
    .values(
        {name: bindparam(name, type_=_ROW[name].type) for name in ("state", "outcome", "finished_at", "expires_at")}
    )
    .values(result=bindparam("result", type_=_ROW.result.type), arguments=None)
)
_LEAVE = update(calls).where(_AT, _IS_RUNNING).values(state=UNKNOWN, expires_at=bindparam("expires_at"))
_RESUME = update(calls).where(_AT, _ROW.state == PARKED).values(state=RUNNING, writer=bindparam("writer"))
_ASK_CANCEL = update(calls).where(_AT, _IS_RUNNING).values(cancel_asked_at=bindparam("moment"))
_OF_WRITER = and_(_OURS, _ROW.writer == bindparam("at_writer"), _IS_RUNNING)
_ASKED = select(_ROW.call_id).where(_OF_WRITER, _ROW.cancel_asked_at.is_not(None))
_GONE = select(writers.c.writer).where(
    writers.c.tenant == bindparam("at_tenant"), writers.c.lease_until < bindparam("lapsed")
)
_HAS_APPROVAL = exists().where(approvals.c.tenant == _ROW.tenant, approvals.c.call_id == _ROW.call_id).correlate(calls)
_CLOSE_LAPSED = (
    update(calls)
    .where(_OURS, _IS_RUNNING, _ROW.writer.in_(_GONE), ~_HAS_APPROVAL)
    .values(state=UNKNOWN, expires_at=bindparam("expires_at"))
    .returning(_ROW.call_id)
)
_WIPE = (
    update(calls)
    .where(_OURS, _IS_OVER, _HAS_APPROVAL, _ROW.principal != b"")
    .values(result=None, arguments=None, principal=b"")
)
_PURGE = delete(calls).where(_OURS, _IS_OVER, ~_HAS_APPROVAL)


def _at(session: Session, call_id: str) -> dict[str, Any]:
    return {"at_tenant": session.tenant, "at_call": call_id}
