"""The rows of idempotency keys: found, taken, finished. Each function is a part of a caller's transaction."""

import functools
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Executable, and_, bindparam, delete, select, update

from gateway.call import Standing
from gateway.store.database import Session, insert
from gateway.store.schema import idempotency

_ROW = idempotency.c


class Claimed(Protocol):
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

    @property
    def arguments_digest(self) -> str:
        """What it was used for."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the row of a key says. `result` is sealed."""

    standing: Standing
    call_id: str
    effect_id: str
    arguments_digest: str
    result: bytes | None = field(default=None, repr=False)


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
    )


async def take(session: Session, claim: Claimed, *, writer: str, intent: bytes, now: datetime) -> Kept | None:
    """The key is the claim's and the intent is kept, both once the transaction is done; or what is known of it.

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
        "result": None,
        "claimed_at": now,
        "settled_at": None,
        "expires_at": None,
    }
    taken = await session.execute(_taking(session.dialect), row | {"moment": now})
    # A conflict locks the row, so that it is there still.
    return None if taken.first() is not None else await find(session, claim.key, now)


async def finish(session: Session, claim: Claimed, *, result: bytes | None, now: datetime, until: datetime) -> None:
    """The effect happened: the row says so until then. Nothing changes when it is not the claim's, or done."""
    done = {
        "standing": Standing.DONE.value,
        "intent": None,
        "result": result,
        "settled_at": now,
        "expires_at": until,
    }
    await session.execute(_FINISH, _own(session, claim) | done)


async def leave(session: Session, claim: Claimed) -> None:
    """Nobody knows: the row stays, intent and all, until somebody finds out."""
    await session.execute(_LEAVE, _own(session, claim) | {"standing": Standing.UNKNOWN.value})


async def free(session: Session, claim: Claimed) -> None:
    """The row is gone, unless it is another's, or done."""
    await session.execute(_FREE, _own(session, claim))


async def purge(session: Session, now: datetime) -> None:
    """Rows whose time is over are gone. No row of an unfinished effect ever is."""
    await session.execute(_PURGE, {"at_tenant": session.tenant, "moment": now})


# Made once: putting one together costs as much as a round trip.
_OURS = _ROW.tenant == bindparam("at_tenant")
_AT = and_(_OURS, _ROW.key == bindparam("at_key"))
_IS_OPEN = and_(_AT, _ROW.call_id == bindparam("at_call"), _ROW.standing != Standing.DONE.value)
_IS_OVER = and_(_ROW.standing == Standing.DONE.value, _ROW.expires_at <= bindparam("moment"))
_FIND = select(_ROW.standing, _ROW.call_id, _ROW.effect_id, _ROW.arguments_digest, _ROW.result).where(_AT, ~_IS_OVER)
_FINISH = (
    update(idempotency)
    .where(_IS_OPEN)
    .values({name: bindparam(name) for name in ("standing", "intent", "result", "settled_at", "expires_at")})
)
_LEAVE = update(idempotency).where(_IS_OPEN).values(standing=bindparam("standing"))
_FREE = delete(idempotency).where(_IS_OPEN)
_PURGE = delete(idempotency).where(_OURS, _IS_OVER)


@functools.cache
def _taking(dialect: str) -> Executable:
    """Takes the key when there is no row, or one whose time is over; gives a row back when it did."""
    names = [column.name for column in idempotency.columns]
    made = insert(idempotency, dialect).values({name: bindparam(name) for name in names})
    renewed = {name: made.excluded[name] for name in names}
    keys = [_ROW.tenant, _ROW.key]
    return made.on_conflict_do_update(index_elements=keys, set_=renewed, where=_IS_OVER).returning(_ROW.call_id)


def _own(session: Session, claim: Claimed) -> dict[str, Any]:
    return {"at_tenant": session.tenant, "at_key": claim.key, "at_call": claim.call_id}
