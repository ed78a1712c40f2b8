"""The rows of approvals and of the calls that wait for them: every change of state. Each function is a part of a
caller's transaction.

Each change names in its own statement the state that it starts from and all that it depends on, so that of any
number of gateways that want to make it one does, and nobody has to have looked before.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import case, delete, func, literal, select, update

from gateway.call import Standing
from gateway.store import calls
from gateway.store.columns import Moment
from gateway.store.database import Session
from gateway.store.schema import approval_decisions, approvals, idempotency
from gateway.store.schema import calls as call_rows

_APPROVAL = approvals.c
_CALL = call_rows.c
_KEY = idempotency.c
WAITING = ("open", "approved")
"""States of an approval whose call may still run."""


async def use(  # noqa: PLR0913 - what an approval is bound to
    session: Session,
    approval_id: str,
    *,
    call_id: str,
    arguments_digest: str,
    tool_version: str,
    connection: str,
    now: datetime,
) -> bool:
    """Whether the approval is used by this call from now on: it was approved, is for exactly this, is not over and
    was not used. True for one transaction alone.
    """
    used = await session.execute(
        update(approvals)
        .where(
            *_at(session, approval_id),
            _APPROVAL.state == "approved",
            _APPROVAL.call_id == call_id,
            _APPROVAL.arguments_digest == arguments_digest,
            _APPROVAL.tool_version == tool_version,
            _APPROVAL.connection == connection,
            _APPROVAL.expires_at > now,
        )
        # Another gateway's clock may be ahead of ours: nothing is used before it was decided.
        .values(state="used", used_at=case((_APPROVAL.decided_at > now, _APPROVAL.decided_at), else_=_at_moment(now)))
    )
    return used.rowcount == 1


async def adopt(  # noqa: PLR0913 - what a claim is made of
    session: Session, key: str, call_id: str, *, writer: str, intent: bytes, arguments: bytes | None, now: datetime
) -> bool:
    """Whether the key of the parked call is in progress from now on, claimed by this writer, and the call runs.
    `arguments` are sealed.
    """
    claimed = {"standing": Standing.IN_PROGRESS.value, "writer": writer, "intent": intent, "arguments": arguments}
    adopted = await session.execute(
        update(idempotency)
        .where(
            _KEY.tenant == session.tenant,
            _KEY.key == key,
            _KEY.call_id == call_id,
            _KEY.standing == Standing.PARKED.value,
        )
        .values(**claimed, claimed_at=now)
    )
    return adopted.rowcount == 1 and await calls.resume(session, call_id, writer=writer)


async def decide(session: Session, approval_id: str, decision: dict[str, Any], *, now: datetime) -> str:
    """One person's decision is kept, and the answer is the state of the approval after it; empty when it is not open
    any more, and then nothing was changed.

    `decision` holds the columns of a decision but tenant, approval and time. Raises `StoreRefused` when this person
    has decided already, or may not: the constraints of the table say who may.
    """
    # It locks the row: of several who decide at once each counts those before it.
    held = await session.execute(
        update(approvals)
        .where(*_at(session, approval_id), _APPROVAL.state == "open", _APPROVAL.expires_at > now)
        .values(state="open")
        .returning(_APPROVAL.needed)
    )
    row = held.first()
    if row is None:
        return ""
    named = {"tenant": session.tenant, "approval_id": approval_id, "decided_at": now}
    await session.execute(approval_decisions.insert().values(**decision, **named))
    if decision["decision"] == "deny":
        state = "denied"
    else:
        state = "approved" if await _approving(session, approval_id) >= row.needed else "open"
    if state != "open":
        await session.execute(update(approvals).where(*_at(session, approval_id)).values(state=state, decided_at=now))
    return state


async def close(session: Session, approval_id: str, state: str, *, starting: tuple[str, ...] = WAITING) -> bool:
    """Whether the approval is `expired` or `withdrawn` from now on; it was in one of the states to start from."""
    closed = await session.execute(
        update(approvals).where(*_at(session, approval_id), _APPROVAL.state.in_(starting)).values(state=state)
    )
    return closed.rowcount == 1


async def expire(session: Session, approval_id: str, *, now: datetime) -> bool:
    """Whether the approval is expired from now on: its time is over and it was not used."""
    expired = await session.execute(
        update(approvals)
        .where(*_at(session, approval_id), _APPROVAL.state.in_(WAITING), _APPROVAL.expires_at <= now)
        .values(state="expired")
    )
    return expired.rowcount == 1


async def finish(  # noqa: PLR0913 - what a row is made of
    session: Session,
    call_id: str,
    *,
    outcome: str,
    result: bytes | None,
    now: datetime,
    until: datetime,
    writer: str = "",
) -> bool:
    """Whether the call has ended from now on, and this is what is told of it until then. `result` is sealed.

    With a writer, a call that this writer ran, also when others took it for unknown since the writer was silent;
    without one, a call that is still parked.
    """
    ran = (calls.RUNNING, calls.UNKNOWN)
    is_its = [_CALL.state.in_(ran), _CALL.writer == writer] if writer else [_CALL.state == calls.PARKED]
    ended = {"state": "finished", "outcome": outcome, "result": result, "finished_at": now, "expires_at": until}
    finished = await session.execute(
        update(call_rows).where(_CALL.tenant == session.tenant, _CALL.call_id == call_id, *is_its).values(**ended)
    )
    return finished.rowcount == 1


async def leave_unknown(session: Session, call_id: str, *, writer: str, until: datetime) -> bool:
    """Whether nobody knows, from now on, what became of a call that this writer ran."""
    left = await session.execute(
        update(call_rows)
        .where(
            _CALL.tenant == session.tenant,
            _CALL.call_id == call_id,
            _CALL.state == calls.RUNNING,
            _CALL.writer == writer,
        )
        .values(state=calls.UNKNOWN, expires_at=until)
    )
    return left.rowcount == 1


async def free_key(session: Session, call_id: str) -> None:
    """The key that a parked call owns is free again."""
    await session.execute(
        delete(idempotency).where(
            _KEY.tenant == session.tenant, _KEY.call_id == call_id, _KEY.standing == Standing.PARKED.value
        )
    )


async def forget_question(session: Session, call_id: str) -> None:
    """What a call that has ended was asked with is not kept any more: who it was and how it ended is."""
    of_call = (_CALL.tenant == session.tenant, _CALL.call_id == call_id, _CALL.state == calls.FINISHED)
    await session.execute(update(call_rows).where(*of_call).values(arguments=None))
    await session.execute(
        update(approvals).where(_APPROVAL.tenant == session.tenant, _APPROVAL.call_id == call_id).values(preview=None)
    )


async def forget(session: Session, now: datetime) -> None:
    """Of calls that waited for a person and ended long enough ago the keys are free, and no preview is kept.

    What the rows of the calls hold is forgotten by `calls.purge`; approvals are never taken away.
    """
    over = select(_CALL.call_id).where(
        _CALL.tenant == session.tenant, _CALL.state == calls.FINISHED, _CALL.expires_at <= now
    )
    await session.execute(
        delete(idempotency).where(
            _KEY.tenant == session.tenant, _KEY.standing == Standing.PARKED.value, _KEY.call_id.in_(over)
        )
    )
    await session.execute(
        update(approvals)
        .where(_APPROVAL.tenant == session.tenant, _APPROVAL.preview.is_not(None), _APPROVAL.call_id.in_(over))
        .values(preview=None)
    )


async def _approving(session: Session, approval_id: str) -> int:
    row = approval_decisions.c
    found = await session.execute(
        select(func.count()).where(
            row.tenant == session.tenant, row.approval_id == approval_id, row.decision == "approve"
        )
    )
    return int(found.scalar_one())


def _at(session: Session, approval_id: str) -> tuple[Any, Any]:
    return _APPROVAL.tenant == session.tenant, _APPROVAL.approval_id == approval_id


def _at_moment(now: datetime) -> Any:
    return literal(now, Moment)
