"""The counters of budgets and caps, and what each effect holds of them. Each function is a part of a caller's
transaction.

A counter never goes beyond its limit, however many replicas take from it at once: one statement both asks and
takes. All transactions take counters in one order, so that no two wait for each other.
"""

import functools
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Executable, and_, bindparam, delete, select, update

from gateway.call import Charge, Standing
from gateway.store.columns import moment_of
from gateway.store.database import Session, insert
from gateway.store.schema import budgets, idempotency, reservations

GRACE = timedelta(hours=1)
"""How long a counter is kept after its time: another replica's clock may be behind."""
ABANDONED = timedelta(days=1)
"""After how long what a read holds is taken as spent: its gateway is gone."""
_NO_LIMIT = 2**62
_Held = tuple[str, str, str, str, int]
"""Scope, name, unit and period of a counter, and how much of it."""


async def reserve(session: Session, effect_id: str, charges: Iterable[Charge], now: datetime) -> Charge | None:
    """The effect holds every charge once the transaction is done, and the answer is None; or the one that is too
    much. The caller has to undo the whole transaction then: the charges before it are taken in it.

    No two charges may be of one counter, and the effect may hold nothing yet: `StoreRefused` otherwise.
    """
    for charge in sorted(charges, key=_counter):
        if charge.amount <= 0:
            continue
        # The first of a counter is inserted whatever its limit is.
        if charge.amount > charge.limit or not await _taken(session, charge):
            return charge
        held = {"tenant": session.tenant, "effect_id": effect_id, "amount": charge.amount, "reserved_at": now}
        await session.execute(_HOLD, held | _named(charge))
    return None


async def settle(session: Session, effect_id: str) -> None:
    """What the effect holds is spent. Nothing changes when it holds nothing."""
    await _give_back(session, await _let_go(session, effect_id), is_spent=True)


async def release(session: Session, effect_id: str) -> None:
    """What the effect holds is free again. Nothing changes when it holds nothing."""
    await _give_back(session, await _let_go(session, effect_id), is_spent=False)


async def undo(session: Session, effect_id: str, charges: Iterable[Charge]) -> None:
    """The effect holds nothing, whatever became of a transaction that reserved these charges for it. A slow server
    may have that one still to end: touching its counters waits for it.
    """
    for charge in sorted(charges, key=_counter):
        if 0 < charge.amount <= charge.limit:
            await _touched(session, charge)
    await release(session, effect_id)


async def purge(session: Session, now: datetime) -> None:
    """Counters whose time is over and of which nobody holds anything are gone.

    What a read holds whose gateway died is spent by then. No unknown effect ever loses what it holds.
    """
    abandoned = await session.execute(_ABANDONED, {"at_tenant": session.tenant, "before": now - ABANDONED})
    held = [one for effect_id in abandoned.scalars().all() for one in await _let_go(session, effect_id)]
    await _give_back(session, held, is_spent=True)
    await session.execute(_PURGE, {"at_tenant": session.tenant, "before": now - GRACE})


async def _taken(session: Session, charge: Charge) -> bool:
    took = await session.execute(_taking(session.dialect), _row(session, charge) | {"most": charge.limit})
    return took.first() is not None


async def _touched(session: Session, charge: Charge) -> None:
    await session.execute(_taking(session.dialect), _row(session, charge) | {"reserved": 0, "most": _NO_LIMIT})


async def _let_go(session: Session, effect_id: str) -> list[_Held]:
    """What the effect held of each counter. It holds nothing from now on, and nobody else is told of it."""
    held = await session.execute(_LET_GO, {"at_tenant": session.tenant, "at_effect": effect_id})
    return [(row.scope, row.name, row.unit, row.period, row.amount) for row in held]


async def _give_back(session: Session, held: list[_Held], *, is_spent: bool) -> None:
    for scope, name, unit, period, amount in sorted(held):
        await session.execute(
            _LESS_RESERVED,
            {
                "at_tenant": session.tenant,
                "at_scope": scope,
                "at_name": name,
                "at_unit": unit,
                "at_period": period,
                "held": amount,
                "more": amount if is_spent else 0,
            },
        )


def _counter(charge: Charge) -> tuple[str, str, str, str]:
    return charge.scope.value, charge.name, charge.unit, charge.period


def _named(charge: Charge) -> dict[str, Any]:
    return dict(zip(("scope", "name", "unit", "period"), _counter(charge), strict=True))


def _row(session: Session, charge: Charge) -> dict[str, Any]:
    until = None if charge.expires_at is None else moment_of(charge.expires_at)
    fresh = {"tenant": session.tenant, "spent": 0, "reserved": charge.amount, "expires_at": until}
    return fresh | _named(charge)


# Made once: putting one together costs as much as a round trip.
_COUNTER = budgets.c
_HELD = reservations.c
_HOLD = reservations.insert().values({column.name: bindparam(column.name) for column in reservations.columns})
_LET_GO = (
    delete(reservations)
    .where(_HELD.tenant == bindparam("at_tenant"), _HELD.effect_id == bindparam("at_effect"))
    .returning(_HELD.scope, _HELD.name, _HELD.unit, _HELD.period, _HELD.amount)
)
_LESS_RESERVED = (
    update(budgets)
    .where(
        and_(
            _COUNTER.tenant == bindparam("at_tenant"),
            _COUNTER.scope == bindparam("at_scope"),
            _COUNTER.name == bindparam("at_name"),
            _COUNTER.unit == bindparam("at_unit"),
            _COUNTER.period == bindparam("at_period"),
        )
    )
    .values(reserved=_COUNTER.reserved - bindparam("held"), spent=_COUNTER.spent + bindparam("more"))
)
_PURGE = delete(budgets).where(
    _COUNTER.tenant == bindparam("at_tenant"), _COUNTER.expires_at <= bindparam("before"), _COUNTER.reserved == 0
)


def _effects(standing: Standing) -> Any:
    """Effects of keys that stand so. One standing each: so it is read from an index of few rows."""
    row = idempotency.c
    return select(row.effect_id).where(row.tenant == bindparam("at_tenant"), row.standing == standing.value)


_ABANDONED = (
    select(_HELD.effect_id)
    .distinct()
    .where(
        _HELD.tenant == bindparam("at_tenant"),
        _HELD.reserved_at <= bindparam("before"),
        _HELD.effect_id.not_in(_effects(Standing.IN_PROGRESS)),
        _HELD.effect_id.not_in(_effects(Standing.UNKNOWN)),
    )
)


@functools.cache
def _taking(dialect: str) -> Executable:
    """Adds to the counter when there is room, and gives a row back when it did."""
    made = insert(budgets, dialect).values({column.name: bindparam(column.name) for column in budgets.columns})
    sum_of_all = _COUNTER.spent + _COUNTER.reserved + made.excluded.reserved
    return made.on_conflict_do_update(
        index_elements=[_COUNTER.tenant, _COUNTER.scope, _COUNTER.name, _COUNTER.unit, _COUNTER.period],
        set_={"reserved": _COUNTER.reserved + made.excluded.reserved},
        where=sum_of_all <= bindparam("most"),
    ).returning(_COUNTER.unit)
