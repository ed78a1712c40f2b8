"""What every limiter does: the one in memory, the fake, and the one in a real Valkey whose script is told the time."""

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.limiter import FakeLimiter
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.cli.demo.daemons import valkey
from gateway.clients.redis import RedisClient, Script, ScriptCall
from gateway.ratelimit.base import Checks, Limiter, LimiterStatus
from gateway.ratelimit.memory import MemoryLimiter
from gateway.ratelimit.redis import RedisLimiter, gcra
from gateway.rows import Rate
from gateway.settings.limits import RedisSettings

Make = Callable[[FakeClock], AbstractAsyncContextManager[Limiter]]

A, B = ("tool", "acme", "a"), ("tool", "acme", "b")
CLOCK_LINE = "local time, spare_ms = redis.call('TIME'), 1 -- the clock"
SET_CLOCK = Script("return redis.call('SET', KEYS[1], ARGV[1])")
_prefixes = (f"t{number}" for number in itertools.count())


class TimedLimiter(RedisLimiter):
    """The real one over the real server. Only what the time is, the script reads where a test's clock wrote it."""

    def __init__(self, url: str, clock: FakeClock) -> None:
        prefix = next(_prefixes)
        self._clock, self._clock_key = clock, f"{prefix}-clock"
        self._timed = RedisClient(RedisSettings(url=url, timeout_ms=1000), clock.monotonic)
        super().__init__(self._timed, clock, prefix=prefix, script=timed_script(self._clock_key))

    async def start(self) -> None:
        """As it is, once there is a time."""
        await self._set_clock()
        await super().start()

    async def take(self, checks: Checks) -> tuple[int, float]:
        """As it is, at the clock's time."""
        await self._set_clock()
        return await super().take(checks)

    async def _set_clock(self) -> None:
        micros = round(self._clock.monotonic() * 1e6)
        call = ScriptCall((self._clock_key,), (f"[{micros // 1_000_000},{micros % 1_000_000}]",))
        assert await self._timed.run(SET_CLOCK, [call]) == [b"OK"]


def timed_script(key: str) -> Script:
    """The script with its one marked line replaced. Buckets outlive the real time of a test."""
    lines = gcra().text.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith(CLOCK_LINE))
    lines[place] = f"local time, spare_ms = cjson.decode(redis.call('GET', '{key}')), 3600000"
    return Script("\n".join(lines))


@pytest.fixture(scope="module")
def server() -> Iterator[Path]:
    """A real Valkey."""
    with TemporaryDirectory() as folder, valkey(Path(folder), Path(folder) / "s"):
        yield Path(folder) / "s"


def made(name: str, server: Path) -> Make:
    """How one of the implementations is made, started, and stopped in the end."""
    makes: dict[str, Callable[[FakeClock], Limiter]] = {
        "memory": lambda clock: MemoryLimiter(clock.monotonic),
        "fake": lambda clock: FakeLimiter(clock.monotonic),
        "redis": lambda clock: TimedLimiter(f"unix:{server}", clock),
    }

    @asynccontextmanager
    async def make(clock: FakeClock) -> AsyncIterator[Limiter]:
        limiter = makes[name](clock)
        await limiter.start()
        try:
            yield limiter
        finally:
            await limiter.stop()

    return make


IMPLEMENTATIONS = ("memory", "fake", "redis")


@pytest.fixture(params=IMPLEMENTATIONS)
def make(request: pytest.FixtureRequest, server: Path) -> Make:
    """Each implementation."""
    return made(request.param, server)


async def test_a_burst_passes_and_then_it_is_spent(make: Make) -> None:
    """The first of the next interval passes exactly when it was said."""
    clock = FakeClock()
    async with make(clock) as limiter:
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
    async with make(clock) as limiter:
        check = ((A, Rate(per_minute=60, burst=2)),)
        await limiter.take(check)
        clock.advance(1e6)
        assert [(await limiter.take(check))[0] for _ in range(3)] == [-1, -1, 0]


async def test_all_or_nothing(make: Make) -> None:
    """When one key is spent, no other loses anything, and the first that is spent is named."""
    async with make(FakeClock()) as limiter:
        wide, narrow = (A, Rate(per_minute=1, burst=3)), (B, Rate(per_minute=1, burst=1))
        assert (await limiter.take((wide, narrow)))[0] == -1
        for _ in range(5):
            assert (await limiter.take((wide, narrow)))[0] == 1
        assert [(await limiter.take((wide,)))[0] for _ in range(3)] == [-1, -1, 0]


async def test_the_first_that_is_spent_is_named(make: Make) -> None:
    """Though a later one be spent for longer."""
    async with make(FakeClock()) as limiter:
        checks = ((A, Rate(per_minute=60, burst=1)), (B, Rate(per_minute=1, burst=1)))
        assert (await limiter.take(checks))[0] == -1
        assert await limiter.take(checks) == (0, pytest.approx(1.0))
        assert await limiter.take(checks[::-1]) == (0, pytest.approx(60.0))


async def test_keys_do_not_share(make: Make) -> None:
    """Two keys that read alike when joined are two keys, and braces are letters like others."""
    async with make(FakeClock()) as limiter:
        rate = Rate(per_minute=1)
        keys = [
            ("tool", "a:b", "c"),
            ("tool", "a", "b:c"),
            ("tool", "a}", "b:c"),
            ("tool", "a%7D", "b:c"),
            ("tool", "{"),
        ]
        for key in keys:
            assert (await limiter.take(((key, rate),)))[0] == -1
        for key in keys:
            assert (await limiter.take(((key, rate),)))[0] == 0


async def test_nothing_to_check_passes(make: Make) -> None:
    """No rate, no refusal."""
    async with make(FakeClock()) as limiter:
        assert await limiter.take(()) == (-1, 0.0)


async def test_a_limiter_that_was_started_is_up(make: Make) -> None:
    """And stopping one that was never started is harmless."""
    async with make(FakeClock()) as limiter:
        assert limiter.status() == LimiterStatus(is_up=True)
        await limiter.stop()


@pytest.mark.parametrize("per_minute", [1.1e-6, 0.001, 60, 1e6, 1e9])
@pytest.mark.parametrize("burst", [1, 7, 1_000_000_000])
async def test_every_rate_that_a_row_may_hold_counts(make: Make, per_minute: float, burst: int) -> None:
    """The slowest with the widest burst too: nothing overflows, and the wait is an interval at most."""
    async with make(FakeClock()) as limiter:
        check = ((A, Rate(per_minute=per_minute, burst=burst)),)
        for _ in range(min(burst, 10)):
            assert await limiter.take(check) == (-1, 0.0)
        if burst < 10:
            index, wait = await limiter.take(check)
            assert index == 0
            assert 0 < wait <= 60 / per_minute + 1e-6


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@given(
    per_minute=st.floats(min_value=0.1, max_value=6000),
    burst=st.integers(min_value=1, max_value=20),
    pauses=st.lists(st.floats(min_value=0, max_value=30), max_size=60),
)
@settings(max_examples=60, deadline=None)
async def test_never_more_than_burst_and_rate_allow(
    name: str, server: Path, per_minute: float, burst: int, pauses: list[float]
) -> None:
    """In no stretch of time are more than burst + rate * time admitted, and what was said to pass passes."""
    clock = FakeClock()
    admitted: list[float] = []
    async with made(name, server)(clock) as limiter:
        check = ((A, Rate(per_minute=per_minute, burst=burst)),)
        for pause in pauses:
            clock.advance(pause)
            index, wait = await limiter.take(check)
            if index == 0:
                assert 0 < wait <= 60 / per_minute + 2e-6
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


RATES = st.builds(
    Rate,
    per_minute=st.sampled_from([0.001, 0.3, 7.0, 60.0, 180.0, 6000.0, 1e9]),
    burst=st.sampled_from([1, 2, 5, 50]),
)
KEYS = st.lists(st.sampled_from([("tool", "acme", name) for name in "abc"]), min_size=1, max_size=3, unique=True)
STEPS = st.lists(
    st.tuples(st.integers(0, 30_000_000) | st.integers(0, 3), KEYS, st.tuples(RATES, RATES, RATES)), max_size=25
)


@given(steps=STEPS)
@settings(max_examples=80, deadline=None)
async def test_memory_and_redis_agree(server: Path, steps: list[tuple[int, list[Any], tuple[Rate, ...]]]) -> None:
    """On every take of every sequence, also when a key's rate changes between two takes."""
    clock = FakeClock(monotonic=0.0)
    memory = MemoryLimiter(clock.monotonic)
    async with made("redis", server)(clock) as limiter:
        for pause_us, keys, rates in steps:
            clock.advance(pause_us / 1e6)
            checks = tuple(zip(keys, rates, strict=False))
            said, counted = await memory.take(checks), await limiter.take(checks)
            assert counted[0] == said[0]
            assert counted[1] == pytest.approx(said[1], rel=1e-9, abs=2e-6)
