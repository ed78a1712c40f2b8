"""Wakes those who watch."""

import asyncio


class Bell:
    """Whoever waits is woken when it rings. Use it on one loop."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def ring(self) -> None:
        """Something changed."""
        self._next.set()
        self._next = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Returns when it rings, and after so many seconds in any case."""
        try:
            async with asyncio.timeout(seconds):
                await self._next.wait()
        except TimeoutError:
            return
