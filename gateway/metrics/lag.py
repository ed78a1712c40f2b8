"""Whether the event loop keeps up."""

import asyncio
from collections.abc import Callable

from adapters.base import Clock
from gateway.background import end

LOOK_SECONDS = 0.25
"""How often it is looked at."""


class LoopLag:
    """Tells how late the loop runs what is due."""

    def __init__(self, clock: Clock, on_late: Callable[[float], None]) -> None:
        """`on_late` hears the seconds, at each look."""
        self._clock = clock
        self._on_late = on_late
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look from now on."""
        self._watching = asyncio.create_task(self._watch(), name="event loop lag")

    async def stop(self) -> None:
        """Look no longer. Harmless when it was not started."""
        watching, self._watching = self._watching, None
        await end(watching)

    async def _watch(self) -> None:
        while True:
            due = self._clock.monotonic() + LOOK_SECONDS
            await self._clock.sleep(LOOK_SECONDS)
            self._on_late(self._clock.monotonic() - due)
