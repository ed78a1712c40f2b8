"""Chores are done again and again, and none holds up another."""

import asyncio
import io
import json

import pytest
from fakes.clock import FakeClock

from adapters.base import Fault
from gateway.keeping import Chore, Keeper, for_each
from gateway.store.failures import StoreDown
from gateway.telemetry import configure


class Work:
    """Counts how often it was done, and fails when it is told to."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.done = 0
        self.failure = failure

    async def __call__(self) -> None:
        """Do it."""
        self.done += 1
        if self.failure is not None:
            raise self.failure


async def _stuck() -> None:
    await asyncio.Event().wait()


async def _pass(clock: FakeClock, seconds: int) -> None:
    for _ in range(seconds):
        clock.advance(1)
        for _turn in range(5):
            await asyncio.sleep(0)


async def test_each_is_done_in_its_own_time() -> None:
    """And one that hangs holds up no other."""
    clock, often, seldom = FakeClock(), Work(), Work()
    keeper = Keeper(
        [
            Chore(name="stuck", work=_stuck),
            Chore(name="often", work=often),
            Chore(name="seldom", work=seldom, every_seconds=3),
        ],
        clock=clock,
        log=configure("info", io.StringIO()),
    )
    keeper.start()
    await asyncio.sleep(0)
    await _pass(clock, 6)
    await keeper.stop()
    await _pass(clock, 6)
    assert (often.done, seldom.done) == (6, 2)


@pytest.mark.parametrize(
    ("failure", "event"),
    [(StoreDown("the database did not answer", Fault.TIMEOUT), "chore_waits"), (RuntimeError("x"), "chore_failed")],
)
async def test_one_that_fails_is_told_of_and_done_again(failure: Exception, event: str) -> None:
    """A store that is away for a while is no fault of ours."""
    clock, stream, work = FakeClock(), io.StringIO(), Work(failure)
    keeper = Keeper([Chore(name="mend", work=work)], clock=clock, log=configure("info", stream))
    keeper.start()
    await asyncio.sleep(0)
    await _pass(clock, 3)
    await keeper.stop()
    assert work.done == 3
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (event, "mend") in {(one["event"], one.get("component")) for one in told}


async def test_what_fails_for_one_tenant_is_done_for_all_others() -> None:
    """And is told in the end."""
    done = []

    async def work(tenant: str) -> None:
        done.append(tenant)
        if tenant != "c":
            raise StoreDown(tenant, Fault.ERROR)

    with pytest.raises(StoreDown, match="a"):
        await for_each(("a", "b", "c"), work)
    assert done == ["a", "b", "c"]
