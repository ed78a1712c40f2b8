"""Counters in the store. `tests/contract/test_budget.py` says what all budgets do; this is the store's alone."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.spending import charge, counters
from real.stores import locked, opened, sqlite_settings

from gateway.budget.store import StoreBudget
from gateway.errors import Reason, Refusal
from gateway.store.database import Database
from gateway.store.failures import StoreDown


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A database that gives up early."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield database


@pytest.fixture
def budget(database: Database) -> StoreBudget:
    """A budget that owes two effects at most."""
    return StoreBudget(database, clock=FakeClock(), most_owed=2)


async def _held(database: Database) -> dict[str, tuple[int, int]]:
    async with database.tenant("acme", is_read=True) as session:
        return await counters(session)


async def test_nothing_is_asked_of_the_store_for_a_call_that_costs_nothing(
    budget: StoreBudget, database: Database
) -> None:
    """It does not matter then that the store is down."""
    with locked(database.settings.path):
        await budget.reserve("acme", "e1", ())
    assert budget.owed == 0


async def test_what_is_owed_is_bounded_and_the_oldest_goes(budget: StoreBudget, database: Database) -> None:
    """What it held is spent in the end, and nothing grows without end meanwhile."""
    for name in "abc":
        await budget.reserve("acme", name, [charge(name=name)])
    with locked(database.settings.path):
        for name in "abc":
            await budget.release("acme", name)
        assert budget.owed == 2
        with pytest.raises(StoreDown):
            await budget.mend()
        assert budget.owed == 2
    await budget.mend()
    assert budget.owed == 0
    assert await _held(database) == {"a": (0, 1), "b": (0, 0), "c": (0, 0)}


async def test_a_caller_that_leaves_while_it_reserves_holds_nothing(budget: StoreBudget, database: Database) -> None:
    """Whatever the store made of it."""
    with locked(database.settings.path):
        leaving = asyncio.ensure_future(budget.reserve("acme", "e1", [charge()]))
        await asyncio.sleep(0.05)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
    assert budget.owed == 1
    await budget.mend()
    assert (await _held(database)).get("mail", (0, 0)) == (0, 0)


async def test_a_second_reservation_of_one_effect_is_refused(budget: StoreBudget) -> None:
    """It is a mistake of ours; the call does not go on, and nothing more is taken."""
    await budget.reserve("acme", "e1", [charge()])
    with pytest.raises(Refusal) as refused:
        await budget.reserve("acme", "e1", [charge()])
    assert refused.value.reason is Reason.STORE_UNAVAILABLE
    assert budget.owed == 0
