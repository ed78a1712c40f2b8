"""The rows of events: kept once each, read in their order, forgotten from the oldest on. Each function is a part of a
caller's transaction.

The number of an event is given under a lock of its tenant's head, which is held until the transaction is done: who
has read a number will never find a lower one that was not there before.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import bindparam, delete, exists, func, or_, select, true, tuple_, update

from gateway.store.database import Session, insert
from gateway.store.schema import event_heads, event_ids, events


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """An event that is to be kept. `content` is sealed."""

    connection: str
    event_id: str
    """At most 128 characters. The same of one connection is the same event."""
    vendor: str
    kind: str
    occurred_at: datetime | None
    received_at: datetime
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """An event without its content."""

    number: int
    connection: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """How far a tenant's events go: to `number`, and those up to `floor` are not kept any more."""

    number: int = 0
    floor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some events, in their order, and the head at the same moment."""

    head: Head
    events: tuple[Numbered, ...]


async def keep(session: Session, arrived: Arrived) -> int:
    """The number of the event, which is the newest now; 0 when it was kept before, and nothing changes."""
    seen = {"tenant": session.tenant, "connection": arrived.connection, "event_id": arrived.event_id}
    made = insert(event_ids, session.dialect).values({**seen, "seen_at": arrived.received_at})
    # Waits for whoever is keeping the same one just now.
    if not (await session.execute(made.on_conflict_do_nothing())).rowcount:
        return 0
    number = (await _locked(session)).number + 1
    row = {name: getattr(arrived, name) for name in Arrived.__slots__} | {"tenant": session.tenant, "number": number}
    await session.execute(_KEEP, row)
    await session.execute(_MOVE_NUMBER, {"at_tenant": session.tenant, "to_number": number})
    return number


async def head(session: Session) -> Head:
    """How far the tenant's events go."""
    found = (await session.execute(_HEAD, {"at_tenant": session.tenant})).first()
    return Head() if found is None else Head(number=found.number, floor=found.floor)


async def page(session: Session, after: int, connections: Collection[str], limit: int) -> Page:
    """The first events with a number above `after` of these connections."""
    values = {"at_tenant": session.tenant, "after": after, "of": sorted(connections), "most": limit}
    rows = (await session.execute(_PAGE, values)).all()
    if not rows:
        return Page(head=Head(), events=())
    found = tuple(
        Numbered(number=row.number, connection=row.connection, kind=row.kind) for row in rows if row.number is not None
    )
    return Page(head=Head(number=rows[0].newest, floor=rows[0].floor), events=found)


async def read(session: Session, numbers: Sequence[int]) -> dict[int, Arrived]:
    """These events whole, by number, as far as they are kept still."""
    rows = await session.execute(_READ, {"at_tenant": session.tenant, "these": list(numbers)})
    return {
        row.number: Arrived(
            connection=row.connection,
            event_id=row.event_id,
            vendor=row.vendor,
            kind=row.kind,
            occurred_at=row.occurred_at,
            received_at=row.received_at,
            content=row.content,
        )
        for row in rows
    }


async def forget(session: Session, *, before: datetime, most: int, limit: int) -> int:
    """Take away the oldest events: those received before then, and those beyond so many. Returns how many of at most
    `limit` went; fewer than that means that nothing is left to be taken away.
    """
    held = await head(session)
    beyond = {"at_tenant": session.tenant, "most": limit, "before": before, "beyond": held.number - most}
    last = (await session.execute(_LAST_TO_GO, beyond)).scalar_one()
    if last is None:
        return 0
    await _locked(session)
    await session.execute(_MOVE_FLOOR, {"at_tenant": session.tenant, "to_floor": last})
    gone = await session.execute(_FORGET, {"at_tenant": session.tenant, "to_floor": last})
    return gone.rowcount


async def forget_ids(session: Session, before: datetime, limit: int) -> int:
    """Forget at most `limit` of the events that were kept before then and are not any more; how many went."""
    await _locked(session)  # two who forget at once would wait for one another
    gone = await session.execute(_FORGET_IDS, {"at_tenant": session.tenant, "before": before, "most": limit})
    return gone.rowcount


async def _locked(session: Session) -> Head:
    """The head, which nobody else changes until the transaction is done. It is made when there is none."""
    found = (await session.execute(_LOCK, {"at_tenant": session.tenant})).first()
    if found is None:
        made = {"tenant": session.tenant, "number": 0, "floor": 0}
        await session.execute(insert(event_heads, session.dialect).values(made).on_conflict_do_nothing())
        found = (await session.execute(_LOCK, {"at_tenant": session.tenant})).one()
    return Head(number=found.number, floor=found.floor)


# Made once: putting one together costs as much as a round trip.
_ROW, _TOP = events.c, event_heads.c
_OURS = _ROW.tenant == bindparam("at_tenant")
_KEEP = events.insert().values({column.name: bindparam(column.name, type_=column.type) for column in events.columns})
_OUR_HEAD = _TOP.tenant == bindparam("at_tenant")
_HEAD = select(_TOP.number, _TOP.floor).where(_OUR_HEAD)
_LOCK = _HEAD.with_for_update()
_MOVE_NUMBER = update(event_heads).where(_OUR_HEAD).values(number=bindparam("to_number"))
_MOVE_FLOOR = (
    update(event_heads).where(_OUR_HEAD, _TOP.floor < bindparam("to_floor")).values(floor=bindparam("to_floor"))
)
_SOME = (
    select(_ROW.number, _ROW.connection, _ROW.kind)
    .where(_OURS, _ROW.number > bindparam("after"), _ROW.connection.in_(bindparam("of", expanding=True)))
    .order_by(_ROW.number)
    .limit(bindparam("most"))
    .subquery()
)
# One statement, so that events and head are of one moment: what was taken away in between would not be missed.
_PAGE = (
    select(_TOP.number.label("newest"), _TOP.floor, _SOME.c.number, _SOME.c.connection, _SOME.c.kind)
    .select_from(event_heads.outerjoin(_SOME, true()))
    .where(_OUR_HEAD)
    .order_by(_SOME.c.number)
)
_READ = select(
    _ROW.number,
    _ROW.connection,
    _ROW.event_id,
    _ROW.vendor,
    _ROW.kind,
    _ROW.occurred_at,
    _ROW.received_at,
    _ROW.content,
).where(_OURS, _ROW.number.in_(bindparam("these", expanding=True)))
_OLDEST = select(_ROW.number, _ROW.received_at).where(_OURS).order_by(_ROW.number).limit(bindparam("most")).subquery()
_LAST_TO_GO = select(func.max(_OLDEST.c.number)).where(
    or_(_OLDEST.c.received_at < bindparam("before"), _OLDEST.c.number <= bindparam("beyond"))
)
_FORGET = delete(events).where(_OURS, _ROW.number <= bindparam("to_floor"))
_ID = event_ids.c
_IS_OURS = _ID.tenant == bindparam("at_tenant")
_IS_NEEDED = exists().where(_ROW.tenant == _ID.tenant, _ROW.connection == _ID.connection, _ROW.event_id == _ID.event_id)
_OLD_IDS = (
    select(_ID.connection, _ID.event_id)
    .where(_IS_OURS, _ID.seen_at < bindparam("before"), ~_IS_NEEDED)
    .order_by(_ID.seen_at)
    .limit(bindparam("most"))
)
_FORGET_IDS = delete(event_ids).where(_IS_OURS, tuple_(_ID.connection, _ID.event_id).in_(_OLD_IDS))
