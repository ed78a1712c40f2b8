"""The rows of idempotency keys: found, taken, finished. Each function is a part of a caller's transaction."""

import functools
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Executable, and_, bindparam, delete, select, update

from adapters.base import Happened
from gateway.call import Standing
from gateway.store import budgets
from gateway.store.database import Session, insert
from gateway.store.schema import closings, idempotency

KEEP_SECONDS = 24 * 60 * 60.0
"""How long a key is remembered once its effect is done."""
_ROW = idempotency.c


class Owned(Protocol):
    """A key, and the call that owns it."""

    @property
    def key(self) -> str:
        """The scoped key."""
        ...

    @property
    def call_id(self) -> str:
        """Whose it is."""
        ...

    @property
    def effect_id(self) -> str:
        """What all calls with this key share."""
        ...


class Claimed(Owned, Protocol):
    """The same, and what it was claimed for."""

    @property
    def arguments_digest(self) -> str:
        """What it was used for."""
        ...

    @property
    def kind(self) -> str:
        """Of which line it is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the row of a key says. `result` is sealed."""

    standing: Standing
    call_id: str
    effect_id: str
    arguments_digest: str
    result: bytes | None = field(default=None, repr=False)
    approval_id: str = ""


async def find(session: Session, key: str, now: datetime) -> Kept | None:
    """What is known of the key; None when it is free, which one that is done becomes when its time is over."""
    found = await session.execute(_FIND, {"at_tenant": session.tenant, "at_key": key, "moment": now})
    row = found.first()
    if row is None:
        return None
    return Kept(
        standing=Standing(row.standing),
        call_id=row.call_id,
        effect_id=row.effect_id,
        arguments_digest=row.arguments_digest,
        result=row.result,
        approval_id=row.approval_id or "",
    )


async def take(
    session: Session, claim: Claimed, *, writer: str, intent: bytes, arguments: bytes | None, now: datetime
) -> Kept | None:
    """The key is the claim's and the intent is kept, both once the transaction is done; or what is known of it.
    `arguments` are sealed.

    Of transactions that take one key at once the others wait for the first to end.
    """
    row = {
        "tenant": session.tenant,
        "key": claim.key,
        "call_id": claim.call_id,
        "effect_id": claim.effect_id,
        "arguments_digest": claim.arguments_digest,
        "standing": Standing.IN_PROGRESS.value,
        "writer": writer,
        "intent": intent,
        "arguments": arguments,
        "result": None,
        "approval_id": None,
        "claimed_at": now,
        "settled_at": None,
        "expires_at": None,
    }
    taken = await session.execute(_taking(session.dialect), row | {"moment": now})
    # A conflict locks the row, so that it is there still.
    return None if taken.first() is not None else await find(session, claim.key, now)


async def finish(session: Session, claim: Owned, *, result: bytes | None, now: datetime, until: datetime) -> None:
    """The effect happened: the row says so until then. Nothing changes when it is not the claim's, or done."""
    done = {
        "standing": Standing.DONE.value,
        "intent": None,
        "arguments": None,
        "result": result,
        "settled_at": now,
        "expires_at": until,
    }
    await session.execute(_FINISH, _own(session, claim) | done)


async def leave(session: Session, claim: Owned) -> None:
    """Nobody knows: the row stays, intent and all, until somebody finds out."""
    await session.execute(_LEAVE, _own(session, claim) | {"standing": Standing.UNKNOWN.value})


async def free(session: Session, claim: Owned) -> None:
    """The row is gone, unless it is another's, or done."""
    await session.execute(_FREE, _own(session, claim))


async def free_adopted(session: Session, claim: Owned) -> None:
    """The row of an approved call is gone, if the call has it: one that still waits for whoever runs it stays. A
    transaction that is about to give it to the call is waited for.
    """
    await session.execute(_TOUCH, _own(session, claim))
    await session.execute(_FREE_ADOPTED, _own(session, claim))


async def end(session: Session, claim: Owned, happened: Happened, *, now: datetime, until: datetime) -> None:
    """What became of it, and of what it reserved, as its line says."""
    if happened is Happened.YES:
        await finish(session, claim, result=None, now=now, until=until)
        await budgets.settle(session, claim.effect_id)
    elif happened is Happened.NO:
        await free(session, claim)
        await budgets.release(session, claim.effect_id)
    else:
        await leave(session, claim)


async def is_anothers(session: Session, claim: Claimed) -> bool:
    """Whether another gateway took us for gone and closed the claim: the line of its call is written then."""
    found = await session.execute(
        _CLOSED, {"at_tenant": session.tenant, "at_call": claim.call_id, "at_kind": claim.kind}
    )
    return found.first() is not None


async def purge(session: Session, now: datetime) -> None:
    """Rows whose time is over are gone. No row of an unfinished effect ever is."""
    await session.execute(_PURGE, {"at_tenant": session.tenant, "moment": now})


# Made once: putting one together costs as much as a round trip.
_OURS = _ROW.tenant == bindparam("at_tenant")
_AT = and_(_OURS, _ROW.key == bindparam("at_key"))
_IS_OPEN = and_(_AT, _ROW.call_id == bindparam("at_call"), _ROW.standing != Standing.DONE.value)
_IS_OVER = and_(_ROW.standing == Standing.DONE.value, _ROW.expires_at <= bindparam("moment"))
_FIND = select(_ROW.standing, _ROW.call_id, _ROW.effect_id, _ROW.arguments_digest, _ROW.result, _ROW.approval_id).where(
    _AT, ~_IS_OVER
)
_FINISH = (
    update(idempotency)
    .where(_IS_OPEN)
    .values(
        {name: bindparam(name) for name in ("standing", "intent", "arguments", "result", "settled_at", "expires_at")}
    )
)
_LEAVE = update(idempotency).where(_IS_OPEN).values(standing=bindparam("standing"))
_FREE = delete(idempotency).where(_IS_OPEN)
_TOUCH = update(idempotency).where(_IS_OPEN).values(call_id=_ROW.call_id)
_FREE_ADOPTED = delete(idempotency).where(_IS_OPEN, _ROW.standing != Standing.PARKED.value)
_CLOSED = select(closings.c.closed_by).where(
    closings.c.tenant == bindparam("at_tenant"),
    closings.c.call_id == bindparam("at_call"),
    closings.c.kind == bindparam("at_kind"),
)
_PURGE = delete(idempotency).where(_OURS, _IS_OVER)


@functools.cache
def _taking(dialect: str) -> Executable:
    """Takes the key when there is no row, or one whose time is over; gives a row back when it did."""
    names = [column.name for column in idempotency.columns]
    made = insert(idempotency, dialect).values({name: bindparam(name) for name in names})
    renewed = {name: made.excluded[name] for name in names}
    keys = [_ROW.tenant, _ROW.key]
    return made.on_conflict_do_update(index_elements=keys, set_=renewed, where=_IS_OVER).returning(_ROW.call_id)


def _own(session: Session, claim: Owned) -> dict[str, Any]:
    return {"at_tenant": session.tenant, "at_key": claim.key, "at_call": claim.call_id}
