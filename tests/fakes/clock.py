"""A clock that stands still until a test moves it."""

import asyncio
import heapq
import itertools

START = 1_767_225_600.0
"""2026-01-01T00:00:00Z, the first moment of every `FakeClock`."""


class FakeClock:
    """A `Clock` whose time passes by `advance` alone; sleepers wake in the order of their time.

    With `sleeps_pass=True` a sleep advances the clock itself and returns at once: for code that is
    tested for how long it would have waited. Every sleep asked for is kept in `slept`.
    """

    def __init__(self, now: float = START, monotonic: float = 1000.0, *, sleeps_pass: bool = False) -> None:
        self._now = now
        self._monotonic = monotonic
        self._sleeps_pass = sleeps_pass
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Return once a test has advanced the clock by so many seconds."""
        self.slept.append(seconds)
        if seconds <= 0 or self._sleeps_pass:
            self.advance(max(seconds, 0.0))
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._monotonic + seconds, next(self._order), waiter))
        await waiter

    @property
    def sleepers(self) -> int:
        """How many are asleep."""
        return sum(not waiter.done() for _, _, waiter in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Let time pass; wakes whoever is due (they run when the loop next turns)."""
        self._now += seconds
        self._monotonic += seconds
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            waiter = heapq.heappop(self._sleepers)[2]
            if not waiter.done():
                waiter.set_result(None)
