"""Vendors who asked to be left alone, and until when."""

from collections import OrderedDict
from collections.abc import Sequence

from adapters.base import Clock

_MOST = 10_000


class MemoryPauses:
    """`Pauses` of one process. The one that was touched longest ago of 10,000 is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    async def seconds_left(self, names: Sequence[str]) -> float:
        """How long the longest of these pauses still is; 0.0 when there is none."""
        now = self._clock.monotonic()
        return max((self._until.get(name, now) - now for name in names), default=0.0) if self._until else 0.0

    async def pause(self, name: str, seconds: float) -> None:
        """Leave this alone for so long; a longer pause that is known already stays."""
        until = self._clock.monotonic() + seconds
        if seconds > 0 and until > self._until.get(name, 0.0):
            self._until[name] = until
            self._until.move_to_end(name)
            while len(self._until) > _MOST:
                self._until.popitem(last=False)
