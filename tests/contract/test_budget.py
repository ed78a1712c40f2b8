"""What every implementation of `Budget` does, and how counters of the store hold when many take from them at once."""

import asyncio
import contextlib
import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from fakes.budget import DictBudget
from fakes.clock import START, FakeClock
from fakes.spending import charge
from real.postgres import Postgres
from real.stores import locked, opened, postgres_settings, sqlite_settings

from gateway.budget.base import Budget
from gateway.budget.store import StoreBudget
from gateway.errors import Reason, Refusal
from gateway.settings.store import StoreSettings
from gateway.store.database import Database

TENANTS = itertools.count()


class Mending(Budget, Protocol):
    """What is owed is told later."""

    async def mend(self) -> None:
        """Now."""
        ...


@dataclass
class Made:
    """The budget as two replicas see it, and what makes that which is under it fail and work again."""

    one: Mending
    other: Mending
    broken: Callable[[], contextlib.AbstractContextManager[None]]
    tenant: str


@contextlib.contextmanager
def _down(budget: DictBudget) -> Iterator[None]:
    budget.is_down = True
    yield
    budget.is_down = False


@contextlib.contextmanager
def _frozen(server: Postgres, *databases: Database) -> Iterator[None]:
    usual = [database._seconds for database in databases]
    server.freeze()
    try:
        for database in databases:
            database._seconds = 0.3
        yield
    finally:
        server.thaw()
        for database, seconds in zip(databases, usual, strict=True):
            database._seconds = seconds


@contextlib.asynccontextmanager
async def _over_a_store(
    settings: StoreSettings, broken: Callable[..., contextlib.AbstractContextManager[None]]
) -> AsyncIterator[Made]:
    async with opened(settings) as one, opened(settings) as other:
        clock = FakeClock()
        tenant = f"tenant-{next(TENANTS)}"
        yield Made(StoreBudget(one, clock=clock), StoreBudget(other, clock=clock), lambda: broken(one, other), tenant)


@pytest.fixture(params=["fake", "sqlite", "postgresql"])
async def made(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Made]:
    """Each implementation in turn."""
    match request.param:
        case "fake":
            fake = DictBudget(FakeClock())
            yield Made(fake, fake, lambda: _down(fake), "acme")
        case "sqlite":
            settings = await sqlite_settings(tmp_path)
            async with _over_a_store(settings, lambda *_: locked(settings.path)) as one:
                yield one
        case "postgresql":
            server = request.getfixturevalue("server")
            settings = await postgres_settings(server, timeout_ms=10_000)
            async with _over_a_store(settings, lambda *databases: _frozen(server, *databases)) as one:
                yield one


async def _fits(made: Made, amount: int, *, limit: int = 10) -> bool:
    """Whether so much is left of the usual counter. It is given back."""
    try:
        await made.one.reserve(made.tenant, "probe", [charge(amount=amount, limit=limit)])
    except Refusal as refusal:
        assert refusal.reason is Reason.BUDGET_SPENT  # noqa: PT017 - its absence is an answer too
        return False
    await made.one.release(made.tenant, "probe")
    return True


async def test_of_fifty_that_reserve_at_once_on_two_replicas_as_many_succeed_as_fit(made: Made) -> None:
    """Exactly ten of a limit of ten, and the others are told so."""
    budgets = itertools.cycle((made.one, made.other))
    ended = await asyncio.gather(
        *(next(budgets).reserve(made.tenant, f"e{number}", [charge(limit=10)]) for number in range(50)),
        return_exceptions=True,
    )
    assert ended.count(None) == 10
    refusals = [one for one in ended if isinstance(one, Refusal)]
    assert {refusal.reason for refusal in refusals} == {Reason.BUDGET_SPENT}
    assert len(refusals) == 40


async def test_calls_that_take_the_same_counters_in_any_order_do_not_wait_for_each_other_for_ever(made: Made) -> None:
    """They all end, and what they took is what fits."""
    names = [charge(name="a", limit=20), charge(name="b", limit=20), charge(name="c", limit=20)]
    orders = itertools.cycle(list(itertools.permutations(names)))
    budgets = itertools.cycle((made.one, made.other))
    ended = await asyncio.gather(
        *(next(budgets).reserve(made.tenant, f"e{number}", next(orders)) for number in range(30)),
        return_exceptions=True,
    )
    assert ended.count(None) == 20


async def test_the_other_replica_sees_what_is_reserved_and_what_is_spent(made: Made) -> None:
    """And what is given back."""
    await made.one.reserve(made.tenant, "e1", [charge(amount=10, limit=10)])
    with pytest.raises(Refusal):
        await made.other.reserve(made.tenant, "e2", [charge(limit=10)])
    await made.other.release(made.tenant, "e1")
    await made.other.reserve(made.tenant, "e2", [charge(amount=10, limit=10)])
    await made.one.settle(made.tenant, "e2")
    assert not await _fits(made, 1)


async def test_a_charge_that_is_too_much_takes_none_of_the_others(made: Made) -> None:
    """All or nothing."""
    await made.one.reserve(made.tenant, "e1", [charge(name="z", amount=10, limit=10)])
    with pytest.raises(Refusal):
        await made.one.reserve(made.tenant, "e2", [charge(amount=10, limit=10), charge(name="z", limit=10)])
    assert await _fits(made, 10)


async def test_a_refusal_says_what_and_when(made: Made) -> None:
    """A cap is told apart from a budget, and how long it lasts."""
    full = charge(amount=1, limit=1, is_cap=True, expires_at=START + 60, told="One, and that was it.")
    await made.one.reserve(made.tenant, "e1", [full])
    with pytest.raises(Refusal) as refused:
        await made.one.reserve(made.tenant, "e2", [full])
    told = refused.value
    assert (told.reason, told.message, told.retry_after_ms) == (Reason.CAP_REACHED, full.told, 60_000)


async def test_a_new_window_begins_at_nothing(made: Made) -> None:
    """It is another counter."""
    await made.one.reserve(made.tenant, "e1", [charge(amount=10, limit=10, period="2026-01-01")])
    await made.one.reserve(made.tenant, "e2", [charge(amount=10, limit=10, period="2026-01-02")])


async def test_an_effect_that_nobody_ends_keeps_what_it_holds(made: Made) -> None:
    """A gateway that dies in between has spent it, for all that the others know."""
    await made.one.reserve(made.tenant, "e1", [charge(amount=4, limit=10)])
    await made.other.mend()
    assert not await _fits(made, 7)
    assert await _fits(made, 6)


async def test_ending_what_holds_nothing_is_harmless(made: Made) -> None:
    """A replay, or a call that nothing counts."""
    await made.one.reserve(made.tenant, "e1", [])
    await made.one.settle(made.tenant, "e1")
    await made.one.release(made.tenant, "never")
    assert await _fits(made, 10)


async def test_while_nobody_can_count_no_call_goes_on(made: Made) -> None:
    """And none is charged for having tried."""
    with made.broken(), pytest.raises(Refusal) as refused:
        await made.one.reserve(made.tenant, "e1", [charge(amount=10, limit=10)])
    assert refused.value.reason is Reason.STORE_UNAVAILABLE
    assert refused.value.fault is not None
    await made.one.mend()
    assert await _fits(made, 10)


@pytest.mark.parametrize(("is_spent", "left"), [(True, 6), (False, 10)])
async def test_what_cannot_be_told_is_told_later(made: Made, is_spent: bool, left: int) -> None:
    """Nothing is raised meanwhile."""
    await made.one.reserve(made.tenant, "e1", [charge(amount=4, limit=10)])
    with made.broken():
        await (made.one.settle if is_spent else made.one.release)(made.tenant, "e1")
    await made.one.mend()
    assert await _fits(made, left)
    assert not await _fits(made, left + 1)


async def test_whatever_order_effects_end_in_the_counter_is_right(made: Made) -> None:
    """What is spent or kept is gone, what is given back is there again, and the limit is never passed."""
    chance = random.Random(4)
    kept = 0

    async def live(number: int) -> None:
        nonlocal kept
        one, other = chance.sample((made.one, made.other), 2)
        amount, end = chance.randint(1, 5), chance.choice(("settle", "release", "keep"))
        try:
            await one.reserve(made.tenant, f"e{number}", [charge(amount=amount, limit=40)])
        except Refusal:
            return
        if end == "release":
            await other.release(made.tenant, f"e{number}")
            return
        kept += amount
        if end == "settle":
            await asyncio.gather(one.settle(made.tenant, f"e{number}"), other.settle(made.tenant, f"e{number}"))

    await asyncio.gather(*map(live, range(60)))
    assert kept <= 40
    assert kept == 40 or await _fits(made, 40 - kept, limit=40)
    assert not await _fits(made, 41 - kept, limit=40)
