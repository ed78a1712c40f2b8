"""The limiter in memory, beyond what every limiter does."""

import pytest
from fakes.clock import FakeClock

from gateway.ratelimit.base import LimiterDown
from gateway.ratelimit.memory import MemoryLimiter
from gateway.rows import Rate

RATE = Rate(per_minute=60, burst=1)


async def test_old_keys_are_forgotten_a_few_at_a_time() -> None:
    """Memory follows the keys that are in use, not those that ever were."""
    clock = FakeClock()
    limiter = MemoryLimiter(clock.monotonic)
    for index in range(10_000):
        await limiter.take(((("a", str(index)), RATE),))
        clock.advance(0.1)
    assert len(limiter) < 30


async def test_a_key_in_use_is_not_forgotten() -> None:
    """Though it be the oldest."""
    clock = FakeClock()
    limiter = MemoryLimiter(clock.monotonic)
    slow = ((("slow",), Rate(per_minute=0.001, burst=1)),)
    await limiter.take(slow)
    for index in range(1000):
        await limiter.take(((("a", str(index)), RATE),))
        clock.advance(1)
    assert (await limiter.take(slow))[0] == 0


async def test_a_key_that_is_full_again_is_a_new_key() -> None:
    """Whether it was forgotten meanwhile or not, also when both happen in one take."""
    clock = FakeClock()
    limiter = MemoryLimiter(clock.monotonic)
    old, other = (("old",), RATE), (("other",), RATE)
    await limiter.take((old,))
    clock.advance(2)
    assert (await limiter.take((other, old)))[0] == -1
    assert (await limiter.take((old,)))[0] == 0
    clock.advance(2)
    for index in range(5):
        await limiter.take(((("a", str(index)), RATE),))
    assert len(limiter) == 5


async def test_more_keys_than_it_holds_is_down() -> None:
    """It says that it cannot tell, and takes from no key; those that it knows go on."""
    clock = FakeClock()
    limiter = MemoryLimiter(clock.monotonic, max_keys=2)
    known = (("a",), Rate(per_minute=60, burst=2))
    await limiter.take((known, (("b",), RATE)))
    with pytest.raises(LimiterDown):
        await limiter.take((known, (("c",), RATE)))
    assert (await limiter.take((known,)))[0] == -1
    clock.advance(5)
    assert (await limiter.take(((("c",), RATE),)))[0] == -1
