"""How far the events of those tenants go that somebody watches: one look into the store for all who watch.

An event that this gateway keeps wakes them at once, and one that another replica keeps as soon as it is seen.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

from adapters.base import Clock
from gateway.background import end

POLL_SECONDS = 0.5
"""How often the store is asked."""

ReadNumber = Callable[[str], Awaitable[int]]
"""The number of a tenant's newest event. What it raises is taken for no news."""


class Heads:
    """Use it on one loop."""

    def __init__(self, read: ReadNumber, *, clock: Clock, poll_seconds: float = POLL_SECONDS) -> None:
        self._read = read
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._watched: Counter[str] = Counter()
        self._newest: dict[str, int] = {}
        self._news: dict[str, asyncio.Event] = {}
        self._looking: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def followed(self, tenant: str) -> AsyncIterator[None]:
        """While this lasts, news of the tenant are heard."""
        self._watched[tenant] += 1
        self._news.setdefault(tenant, asyncio.Event())
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), name="event heads")
        try:
            yield
        finally:
            self._watched[tenant] -= 1
            if not self._watched[tenant]:
                del self._watched[tenant], self._news[tenant]
                self._newest.pop(tenant, None)
            if not self._watched:
                looking, self._looking = self._looking, None
                await end(looking)

    def moved(self, tenant: str, number: int) -> None:
        """This is the number of an event that is kept."""
        self._is_at(tenant, max(number, self._newest.get(tenant, 0)))

    def ring(self) -> None:
        """Wake everybody, whatever they wait for."""
        for tenant in tuple(self._watched):
            self._ring(tenant)

    async def beyond(self, tenant: str, number: int, seconds: float) -> None:
        """Returns when there is an event beyond that number, at a `ring`, and after so many seconds in any case.

        The tenant is `followed`.
        """
        if self._newest.get(tenant, 0) > number:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news[tenant].wait()

    def _is_at(self, tenant: str, number: int) -> None:
        """Lower than it was, too: a store may be set back."""
        if tenant in self._watched and number != self._newest.get(tenant, 0):
            self._newest[tenant] = number
            self._ring(tenant)

    def _ring(self, tenant: str) -> None:
        before, self._news[tenant] = self._news[tenant], asyncio.Event()
        before.set()

    async def _look(self) -> None:
        while True:
            await self._clock.sleep(self._poll_seconds)
            for tenant in tuple(self._watched):
                with contextlib.suppress(Exception):  # who watches asks by itself as well, and is told then
                    self._is_at(tenant, await self._read(tenant))
