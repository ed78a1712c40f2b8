"""What every limiter does."""

from collections.abc import Callable
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.limiter import FakeLimiter
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.ratelimit.base import Limiter
from gateway.ratelimit.memory import MemoryLimiter
from gateway.rows import Rate

Make = Callable[[FakeClock], Limiter]

IMPLEMENTATIONS: dict[str, Make] = {
    "memory": lambda clock: MemoryLimiter(clock.monotonic),
    "fake": lambda clock: FakeLimiter(clock.monotonic),
}
A, B = ("tool", "acme", "a"), ("tool", "acme", "b")


@pytest.fixture(params=IMPLEMENTATIONS)
def make(request: pytest.FixtureRequest) -> Make:
    """Each implementation."""
    return IMPLEMENTATIONS[request.param]


async def test_a_burst_passes_and_then_it_is_spent(make: Make) -> None:
    """The first of the next interval passes exactly when it was said."""
    clock = FakeClock()
    limiter = make(clock)
    check = ((A, Rate(per_minute=60, burst=3)),)
    assert [await limiter.take(check) for _ in range(3)] == [(-1, 0.0)] * 3
    index, wait = await limiter.take(check)
    assert (index, wait) == (0, pytest.approx(1.0))
    clock.advance(0.999)
    assert (await limiter.take(check))[0] == 0
    clock.advance(0.001)
    assert (await limiter.take(check))[0] == -1
    assert (await limiter.take(check))[0] == 0


async def test_a_rest_fills_no_more_than_the_burst(make: Make) -> None:
    """However long nobody asked."""
    clock = FakeClock()
    limiter = make(clock)
    check = ((A, Rate(per_minute=60, burst=2)),)
    await limiter.take(check)
    clock.advance(1e6)
    assert [(await limiter.take(check))[0] for _ in range(3)] == [-1, -1, 0]


async def test_all_or_nothing(make: Make) -> None:
    """When one key is spent, no other loses anything, and the first that is spent is named."""
    limiter = make(FakeClock())
    wide, narrow = (A, Rate(per_minute=1, burst=3)), (B, Rate(per_minute=1, burst=1))
    assert (await limiter.take((wide, narrow)))[0] == -1
    for _ in range(5):
        assert (await limiter.take((wide, narrow)))[0] == 1
    assert [(await limiter.take((wide,)))[0] for _ in range(3)] == [-1, -1, 0]


async def test_keys_do_not_share(make: Make) -> None:
    """Two keys that read alike when joined are two keys."""
    limiter = make(FakeClock())
    rate = Rate(per_minute=1)
    assert (await limiter.take(((("tool", "a:b", "c"), rate),)))[0] == -1
    assert (await limiter.take(((("tool", "a", "b:c"), rate),)))[0] == -1


async def test_nothing_to_check_passes(make: Make) -> None:
    """No rate, no refusal."""
    assert await make(FakeClock()).take(()) == (-1, 0.0)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@given(
    per_minute=st.floats(min_value=0.1, max_value=6000),
    burst=st.integers(min_value=1, max_value=20),
    pauses=st.lists(st.floats(min_value=0, max_value=30), max_size=60),
)
@settings(max_examples=60, deadline=None)
async def test_never_more_than_burst_and_rate_allow(
    name: str, per_minute: float, burst: int, pauses: list[float]
) -> None:
    """In no stretch of time are more than burst + rate * time admitted, and what was said to pass passes."""
    clock = FakeClock()
    limiter = IMPLEMENTATIONS[name](clock)
    check = ((A, Rate(per_minute=per_minute, burst=burst)),)
    admitted: list[float] = []
    for pause in pauses:
        clock.advance(pause)
        index, wait = await limiter.take(check)
        if index == 0:
            assert 0 < wait <= 60 / per_minute + 1e-6
            clock.advance(wait + 1e-6)
            index, _ = await limiter.take(check)
        assert index == -1
        admitted.append(clock.monotonic())
    _hold(admitted, per_minute, burst)


def _hold(admitted: list[Any], per_minute: float, burst: int) -> None:
    for first in range(len(admitted)):
        for last in range(first, len(admitted)):
            stretch = admitted[last] - admitted[first]
            assert last - first + 1 <= burst + stretch * per_minute / 60 + 1e-3
