"""The rows of approvals and of the calls that wait for them: written once, and looked at. Each function is a part of
a caller's transaction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, or_, select, update

from gateway.call import Standing
from gateway.store.approvals import WAITING
from gateway.store.calls import RUNNING, UNKNOWN, Opened, open_call
from gateway.store.database import Session, insert
from gateway.store.schema import approval_decisions, approvals, calls, idempotency, writers

_APPROVAL = approvals.c
_CALL = calls.c
_KEY = idempotency.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An approval and its call. `principal`, `arguments` and `preview` are sealed."""

    approval_id: str
    call_id: str
    effect_id: str
    key: str | None = field(repr=False)
    agent: str
    requester: str
    tool: str
    tool_version: str
    connection: str
    arguments_digest: str
    policy_revision: str
    terms: bytes
    preview: bytes | None = field(repr=False)
    needed: int
    state: str
    created_at: datetime
    expires_at: datetime
    call_state: str
    principal: bytes = field(repr=False)
    arguments: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDecision:
    """One person's decision."""

    approval_id: str
    person: str
    decision: str
    role: str
    reason: str = field(repr=False)
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A call that its writer was at work on when it went away, and how its key stands. `result` is sealed."""

    call_id: str
    key: str | None = field(repr=False)
    writer: str
    standing: str | None
    result: bytes | None = field(repr=False)


async def park(session: Session, *, call: Opened, approval: dict[str, Any], intent: bytes) -> bool:
    """Whether the call waits from now on, and owns its key; False when another call has the key.

    `approval` holds the columns of its table but tenant and state.
    """
    if call.key is not None and not await _own(session, call, approval["approval_id"], intent):
        return False
    await open_call(session, call)
    await session.execute(approvals.insert().values(tenant=session.tenant, state="open", **approval))
    return True


async def park_again(session: Session, *, call_id: str, arguments: bytes | None, approval: dict[str, Any]) -> None:
    """A call that waits already waits for another approval from now on. Its key stays for what was asked first."""
    await session.execute(
        update(calls).where(_CALL.tenant == session.tenant, _CALL.call_id == call_id).values(arguments=arguments)
    )
    await session.execute(approvals.insert().values(tenant=session.tenant, state="open", **approval))
    await session.execute(
        update(idempotency)
        .where(_KEY.tenant == session.tenant, _KEY.call_id == call_id, _KEY.standing == Standing.PARKED.value)
        .values(approval_id=approval["approval_id"])
    )


async def count_open(session: Session, agent: str, now: datetime) -> int:
    """How many approvals of this agent are open. Of transactions that ask at once the others wait for the first."""
    if session.dialect == "postgresql":
        name = f"approvals/{session.tenant}/{agent}"
        await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))
    found = await session.execute(
        select(func.count()).where(
            _APPROVAL.tenant == session.tenant,
            _APPROVAL.agent == agent,
            _APPROVAL.state == "open",
            _APPROVAL.expires_at > now,
        )
    )
    return int(found.scalar_one())


async def find(session: Session, approval_id: str) -> Kept | None:
    """One approval."""
    found = await session.execute(_joined(session).where(_APPROVAL.approval_id == approval_id))
    row = found.first()
    return None if row is None else _kept(row)


async def page(session: Session, states: Sequence[str], *, after: str, limit: int) -> list[Kept]:
    """Approvals in these states by their id, which is by their age."""
    wanted = _joined(session).where(_APPROVAL.state.in_(states), _APPROVAL.approval_id > after)
    return [_kept(row) for row in await session.execute(wanted.order_by(_APPROVAL.approval_id).limit(limit))]


async def decisions(session: Session, approval_ids: Iterable[str]) -> dict[str, list[KeptDecision]]:
    """The decisions on these, each in order of time."""
    row = approval_decisions.c
    columns = (row.approval_id, row.person, row.decision, row.role, row.reason, row.decided_at)
    wanted = select(*columns).where(row.tenant == session.tenant, row.approval_id.in_(list(approval_ids)))
    found: dict[str, list[KeptDecision]] = {}
    for each in await session.execute(wanted.order_by(row.decided_at, row.person)):
        found.setdefault(each.approval_id, []).append(KeptDecision(**each._mapping))  # noqa: SLF001 - public
    return found


async def over(session: Session, now: datetime, *, limit: int) -> list[Kept]:
    """Approvals that still wait and whose time is over."""
    wanted = _joined(session).where(_APPROVAL.state.in_(WAITING), _APPROVAL.expires_at <= now)
    return [_kept(row) for row in await session.execute(wanted.limit(limit))]


async def unused(session: Session, now: datetime, *, decided_before: datetime, limit: int) -> tuple[str, ...]:
    """Approvals that were given before then, can be used and were not."""
    found = await session.execute(
        select(_APPROVAL.approval_id)
        .where(
            _APPROVAL.tenant == session.tenant,
            _APPROVAL.state == "approved",
            _APPROVAL.decided_at < decided_before,
            _APPROVAL.expires_at > now,
        )
        .limit(limit)
    )
    return tuple(found.scalars())


async def unfinished(session: Session, *, lapsed_before: datetime, limit: int) -> list[Unfinished]:
    """Calls that were approved and ran, whose writer's lease ended before then, and of which more is known."""
    is_gone = select(writers.c.writer).where(writers.c.tenant == session.tenant, writers.c.lease_until < lapsed_before)
    was_used = select(_APPROVAL.call_id).where(_APPROVAL.tenant == session.tenant, _APPROVAL.state == "used")
    tells = or_(_CALL.key.is_(None), _KEY.standing == Standing.DONE.value)
    of_key = (_KEY.tenant == _CALL.tenant) & (_KEY.call_id == _CALL.call_id)
    found = await session.execute(
        select(_CALL.call_id, _CALL.key, _CALL.writer, _KEY.standing, _KEY.result)
        .select_from(calls.outerjoin(idempotency, of_key))
        .where(
            _CALL.tenant == session.tenant,
            or_(_CALL.state == RUNNING, (_CALL.state == UNKNOWN) & tells),
            _CALL.writer.in_(is_gone),
            _CALL.call_id.in_(was_used),
        )
        .limit(limit)
    )
    return [Unfinished(**row._mapping) for row in found]  # noqa: SLF001 - public


async def _own(session: Session, call: Opened, approval_id: str, intent: bytes) -> bool:
    # A key whose time is over is free, and its row in the way.
    await session.execute(
        delete(idempotency).where(
            _KEY.tenant == session.tenant,
            _KEY.key == call.key,
            _KEY.standing == Standing.DONE.value,
            _KEY.expires_at <= call.created_at,
        )
    )
    row = {name: getattr(call, name) for name in ("key", "call_id", "effect_id", "arguments_digest", "writer")}
    parked = {"standing": Standing.PARKED.value, "intent": intent, "approval_id": approval_id}
    values = {"tenant": session.tenant, "claimed_at": call.created_at, **row, **parked}
    owned = await session.execute(
        insert(idempotency, session.dialect)
        .values(values)
        .on_conflict_do_nothing(index_elements=[_KEY.tenant, _KEY.key])
        .returning(_KEY.call_id)
    )
    return owned.first() is not None


def _joined(session: Session) -> Any:
    asked = [column for column in approvals.columns if column.name in Kept.__slots__]
    kept = (_CALL.effect_id, _CALL.key, _CALL.state.label("call_state"), _CALL.principal, _CALL.arguments)
    of_call = (_CALL.tenant == _APPROVAL.tenant) & (_CALL.call_id == _APPROVAL.call_id)
    return select(*asked, *kept).select_from(approvals.join(calls, of_call)).where(_APPROVAL.tenant == session.tenant)


def _kept(row: Any) -> Kept:
    return Kept(**row._mapping)  # noqa: SLF001 - public, named so as to be no column
