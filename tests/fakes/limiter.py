"""A limiter that counts tokens, keeps what was asked of it, and can be down."""

from collections.abc import Callable

from gateway.ratelimit.base import Checks, Key, LimiterDown, LimiterStatus
from gateway.rows import Rate


class FakeLimiter:
    """Another way to the same answers as GCRA: a bucket of tokens per key, filled as time passes."""

    def __init__(self, monotonic: Callable[[], float] = lambda: 0.0) -> None:
        self._monotonic = monotonic
        self._buckets: dict[Key, tuple[float, float]] = {}
        self.is_down = False
        self.asked: list[Checks] = []

    async def start(self) -> None:
        """Nothing to get ready."""

    async def stop(self) -> None:
        """Nothing to let go of."""

    def status(self) -> LimiterStatus:
        """Down when a test says so."""
        return LimiterStatus(is_up=not self.is_down, problem="the fake is down" if self.is_down else "")

    async def take(self, checks: Checks) -> tuple[int, float]:
        """Take one from every key, or from none. See `Limiter`."""
        self.asked.append(checks)
        if self.is_down:
            raise LimiterDown("the fake is down")
        now = self._monotonic()
        levels = [self._level(key, rate, now) for key, rate in checks]
        for index, (level, (_, rate)) in enumerate(zip(levels, checks, strict=True)):
            if level < 1 - 1e-6:
                return index, (1 - level) * 60 / rate.per_minute
        for (key, _), level in zip(checks, levels, strict=True):
            self._buckets[key] = (level - 1, now)
        return -1, 0.0

    def _level(self, key: Key, rate: Rate, now: float) -> float:
        level, since = self._buckets.get(key, (float(rate.burst), now))
        return min(rate.burst, level + (now - since) * rate.per_minute / 60)
