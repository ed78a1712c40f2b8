"""GCRA in a dictionary: exact within one process, forgotten with it."""

from collections import deque
from collections.abc import Callable

from gateway.ratelimit.base import Checks, Key, LimiterDown, LimiterStatus

MAX_KEYS = 1_000_000
_SWEEP = 2
"""Old keys looked at for each new one: more than one, so that the past shrinks faster than it grows."""


class MemoryLimiter:
    """Per key, the moment at which its bucket will be full again; a key that is absent is full.

    `monotonic` is seconds on a clock that never goes back. The keys of one `take` must differ.
    """

    def __init__(self, monotonic: Callable[[], float], *, max_keys: int = MAX_KEYS) -> None:
        self._monotonic = monotonic
        self._max_keys = max_keys
        self._full_at: dict[Key, float] = {}
        self._queue: deque[Key] = deque()

    def __len__(self) -> int:
        return len(self._full_at)

    async def start(self) -> None:
        """Nothing to get ready."""

    async def stop(self) -> None:
        """Nothing to let go of."""

    def status(self) -> LimiterStatus:
        """Always up."""
        return LimiterStatus(is_up=True)

    async def take(self, checks: Checks) -> tuple[int, float]:
        """Take one from every key, or from none. See `Limiter`."""
        now = self._monotonic()
        full_at = self._full_at
        taken = []
        fresh = 0
        for index, (key, rate) in enumerate(checks):
            interval = 60.0 / rate.per_minute
            at = full_at.get(key)
            if at is None:
                fresh += 1
                at = now
            elif at < now:
                at = now
            wait = at - now - (rate.burst - 1) * interval
            # A billionth of a second is rounding, not a call too early.
            if wait > 1e-9:
                return index, wait
            taken.append((key, at + interval))
        if fresh:
            self._make_room(fresh, now)
        for key, at in taken:
            if key not in full_at:
                self._queue.append(key)
            full_at[key] = at
        return -1, 0.0

    def _make_room(self, fresh: int, now: float) -> None:
        """For each new key a few of the oldest are forgotten if they are full, or go to the back."""
        queue, full_at = self._queue, self._full_at
        for _ in range(min(_SWEEP * fresh, len(queue))):
            oldest = queue.popleft()
            if full_at[oldest] <= now:
                del full_at[oldest]
            else:
                queue.append(oldest)
        if len(full_at) + fresh > self._max_keys:
            raise LimiterDown("more callers than this limiter can count")
