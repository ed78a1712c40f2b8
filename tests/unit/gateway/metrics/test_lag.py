"""The lag of the event loop: measured by what was due."""

import asyncio

import pytest
from fakes.clock import FakeClock

from gateway.metrics.lag import LOOK_SECONDS, LoopLag


async def turn() -> None:
    """Let whoever is due run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_lag_is_what_passed_beyond_the_time_due() -> None:
    """Woken 0.3 s late is 0.3 s of lag; woken in time is none."""
    clock, late = FakeClock(), list[float]()
    lag = LoopLag(clock, late.append)
    await lag.start()
    await turn()
    clock.advance(LOOK_SECONDS)
    await turn()
    clock.advance(LOOK_SECONDS + 0.3)
    await turn()
    await lag.stop()
    assert late == [pytest.approx(0.0), pytest.approx(0.3)]


async def test_it_stops_and_may_be_stopped_without_a_start() -> None:
    """Nothing is measured after the end."""
    clock, late = FakeClock(), list[float]()
    lag = LoopLag(clock, late.append)
    await lag.stop()
    await lag.start()
    await turn()
    await lag.stop()
    clock.advance(10)
    await turn()
    assert late == []
