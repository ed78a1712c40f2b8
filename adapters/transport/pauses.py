"""Vendors who asked to be left alone, and until when."""

from collections import OrderedDict
from collections.abc import Sequence

from adapters.base import Clock

MOST_SECONDS = 86_400.0
"""No vendor is left alone for longer at once."""
_MOST = 10_000


class MemoryPauses:
    """`Pauses` of one process. The one that was touched longest ago of 10,000 is forgotten."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()

    async def seconds_left(self, names: Sequence[str]) -> float:
        """How long the longest of these pauses still is; 0.0 when there is none."""
        now = self._clock.monotonic()
        return max(0.0, *(self._until.get(name, now) - now for name in names)) if self._until and names else 0.0

    async def pause(self, name: str, seconds: float) -> None:
        """Leave this alone for so long, a day at most; a longer pause that is known already stays."""
        until = self._clock.monotonic() + min(seconds, MOST_SECONDS)
        if seconds > 0 and until > self._until.get(name, 0.0):
            self._until[name] = until
            self._until.move_to_end(name)
            while len(self._until) > _MOST:
                self._until.popitem(last=False)
