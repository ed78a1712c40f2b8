"""The rows of counters. `tests/contract/test_budget.py` says what holds when many take from one at once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW, claim, put
from fakes.spending import charge, counters
from real.stores import opened, sqlite_settings

from gateway.call import BudgetScope
from gateway.store import budgets, keys
from gateway.store.database import Session
from gateway.store.failures import StoreRefused
from gateway.store.schema import reservations


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A transaction, and a writer."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await put(session)
        yield session


async def test_what_fits_is_reserved_and_what_is_settled_is_spent(session: Session) -> None:
    """Settling twice, or releasing what is settled, changes nothing."""
    assert await budgets.reserve(session, "e1", [charge(amount=3, limit=10)], NOW) is None
    assert await counters(session) == {"mail": (0, 3)}
    for _ in range(2):
        await budgets.settle(session, "e1")
        assert await counters(session) == {"mail": (3, 0)}
    await budgets.release(session, "e1")
    assert await counters(session) == {"mail": (3, 0)}


async def test_what_is_released_is_free_again(session: Session) -> None:
    """Once, however often it is released."""
    await budgets.reserve(session, "e1", [charge(amount=10, limit=10)], NOW)
    assert await budgets.reserve(session, "e2", [charge(limit=10)], NOW) is not None
    for _ in range(2):
        await budgets.release(session, "e1")
    await budgets.settle(session, "e1")
    assert await counters(session) == {"mail": (0, 0)}
    assert await budgets.reserve(session, "e2", [charge(amount=10, limit=10)], NOW) is None


async def test_the_charge_that_is_too_much_is_named(session: Session) -> None:
    """In the order of the counters, whatever order they come in; spent and reserved count alike."""
    await budgets.reserve(session, "e1", [charge(amount=6, limit=10)], NOW)
    await budgets.settle(session, "e1")
    await budgets.reserve(session, "e2", [charge(amount=3, limit=10)], NOW)
    fits, too_much = charge(name="aaa"), charge(amount=2, limit=10)
    assert await budgets.reserve(session, "e3", [too_much, fits], NOW) is too_much


@pytest.mark.parametrize(("amount", "limit"), [(1, 0), (11, 10)])
async def test_a_first_charge_beyond_the_limit_is_too_much(session: Session, amount: int, limit: int) -> None:
    """Though there is no counter yet to compare with, and none comes of it."""
    asked = charge(amount=amount, limit=limit)
    assert await budgets.reserve(session, "e1", [asked], NOW) is asked
    assert await counters(session) == {}


async def test_a_limit_that_was_lowered_holds_at_once(session: Session) -> None:
    """Though more is spent than it allows now."""
    await budgets.reserve(session, "e1", [charge(amount=8, limit=10)], NOW)
    assert await budgets.reserve(session, "e2", [charge(limit=5)], NOW) is not None
    assert await budgets.reserve(session, "e2", [charge(amount=2, limit=10)], NOW) is None


async def test_counters_are_told_apart_by_all_that_names_them(session: Session) -> None:
    """Scope, name, unit and window."""
    apart = [
        charge(),
        charge(name="other"),
        charge(unit="EUR"),
        charge(period="2026-01-02"),
        charge(scope=BudgetScope.AGENT),
    ]
    assert await budgets.reserve(session, "e1", apart, NOW) is None
    assert len((await session.execute(reservations.select())).all()) == len(apart)


async def test_a_charge_of_nothing_takes_nothing(session: Session) -> None:
    """Not even from a counter that is full."""
    assert await budgets.reserve(session, "e1", [charge(amount=0, limit=0)], NOW) is None
    assert await counters(session) == {}


async def test_an_effect_reserves_once(session: Session) -> None:
    """Twice is a mistake that the store refuses."""
    await budgets.reserve(session, "e1", [charge()], NOW)
    with pytest.raises(StoreRefused):
        await budgets.reserve(session, "e1", [charge()], NOW)


async def test_undoing_takes_back_what_may_be_reserved(session: Session) -> None:
    """It was, or it was not: the counter holds nothing either way."""
    await budgets.reserve(session, "e1", [charge()], NOW)
    for effect_id in ("e1", "e2"):
        await budgets.undo(session, effect_id, [charge(), charge(name="never", amount=9, limit=1)])
        assert await counters(session) == {"mail": (0, 0)}


async def test_purging_takes_counters_whose_time_is_over(session: Session) -> None:
    """An hour later: another replica's clock may be behind. One without an end stays, and one that is held."""
    until = NOW.timestamp()
    await budgets.reserve(session, "e1", [charge(name="over", expires_at=until), charge(name="ever")], NOW)
    await budgets.settle(session, "e1")
    await budgets.reserve(session, "e2", [charge(name="held", expires_at=until)], NOW)
    await budgets.purge(session, NOW + budgets.GRACE - timedelta(seconds=1))
    assert set(await counters(session)) == {"over", "ever", "held"}
    await budgets.purge(session, NOW + budgets.GRACE)
    assert set(await counters(session)) == {"ever", "held"}


async def test_what_a_dead_gateway_held_for_a_read_is_spent_in_the_end(session: Session) -> None:
    """Nobody knows whether it cost something."""
    await budgets.reserve(session, "read", [charge()], NOW)
    await budgets.purge(session, NOW + budgets.ABANDONED - timedelta(seconds=1))
    assert await counters(session) == {"mail": (0, 1)}
    await budgets.purge(session, NOW + budgets.ABANDONED)
    assert await counters(session) == {"mail": (1, 0)}


@pytest.mark.parametrize("is_known", [True, False])
async def test_an_unfinished_effect_keeps_what_it_holds(session: Session, is_known: bool) -> None:
    """For as long as it is in progress, or unknown."""
    await keys.take(session, claim(), writer="w1", intent=b"{}", arguments=None, now=NOW)
    await budgets.reserve(session, claim().effect_id, [charge()], NOW)
    if not is_known:
        await keys.leave(session, claim())
    await budgets.purge(session, LATER + timedelta(days=1000))
    assert await counters(session) == {"mail": (0, 1)}
