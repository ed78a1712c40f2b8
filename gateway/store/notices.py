"""What PostgreSQL tells by itself: that a tenant's registry changed. Faster than asking, and never the only way to
know: nothing is kept for who is not connected, and behind PgBouncer in transaction mode nothing ever comes.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from adapters.base import Clock
from gateway.background import end
from gateway.settings.store import StoreSettings
from gateway.store.engines import new_engine
from gateway.store.rows import CHANNEL

RETRY_SECONDS = 1.0
"""Between two attempts to connect."""


class Notices:
    """Listens on a connection of its own. Says nothing on SQLite."""

    def __init__(self, settings: StoreSettings, clock: Clock, on_notice: Callable[[], None]) -> None:
        """`on_notice` is called when something changed, and when something may have changed unheard: after every new
        connection. It may not raise.
        """
        self._settings = settings
        self._clock = clock
        self._on_notice = on_notice
        self._listening: asyncio.Task[None] | None = None
        self.is_connected = False

    def start(self) -> None:
        """Listen from now on, as soon as the server answers."""
        if not self._settings.is_sqlite and self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="registry notices")

    async def stop(self) -> None:
        """Listen no longer. Harmless when it was not started."""
        listening, self._listening = self._listening, None
        await end(listening)

    async def _listen(self) -> None:
        engine = new_engine(self._settings, self._clock, is_for_migrations=True)
        try:
            while True:
                with contextlib.suppress(Exception):  # a server that is away; whoever listens goes on
                    await self._connected(engine)
                self.is_connected = False
                await self._clock.sleep(RETRY_SECONDS)
        finally:
            self.is_connected = False
            await engine.dispose()

    async def _connected(self, engine: AsyncEngine) -> None:
        """Returns when the connection has ended."""
        over = asyncio.Event()
        async with engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            try:
                driver.add_termination_listener(lambda *_: over.set())
                await driver.add_listener(CHANNEL, lambda *_: self._on_notice())
                self.is_connected = True
                self._on_notice()
                await over.wait()
            finally:
                driver.terminate()  # a server that does not answer would not answer a farewell either
                await connection.invalidate()
