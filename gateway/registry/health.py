"""How the accounts behind connections answer: noted after every call in memory, and told to the store now and then."""

import asyncio
import contextlib
from dataclasses import dataclass

from adapters.base import Clock
from gateway.background import end
from gateway.errors import Reason
from gateway.store import health
from gateway.store.columns import moment_of
from gateway.store.database import Database

FLUSH_SECONDS = 3.0
MOST = 10_000
"""Connections that are remembered between two flushes; of more nothing is noted."""


@dataclass(slots=True)
class _Seen:
    """What was seen of one account since it was told last, in seconds since the epoch."""

    success_at: float | None = None
    error_at: float | None = None
    error: Reason | None = None


class ConnectionHealth:
    """Notes how accounts answer. Use it on one loop."""

    def __init__(self, database: Database, *, clock: Clock, flush_seconds: float = FLUSH_SECONDS) -> None:
        self._database = database
        self._clock = clock
        self._flush_seconds = flush_seconds
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._flushing: asyncio.Task[None] | None = None

    def seen(self, tenant: str, connection: str, reason: Reason | None) -> None:
        """The account behind the connection answered, or failed for this reason. Never waits, never raises."""
        key = (tenant, connection)
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= MOST:
                return
            found = self._seen[key] = _Seen()
        if reason is None:
            found.success_at = self._clock.now()
        else:
            found.error_at, found.error = self._clock.now(), reason

    async def start(self) -> None:
        """Tell the store from now on."""
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_often(), name="connection health")

    async def stop(self) -> None:
        """Tell it a last time, and no more. Harmless when it was not started."""
        flushing, self._flushing = self._flushing, None
        await end(flushing)
        if flushing is not None:
            with contextlib.suppress(Exception):  # a store that is away keeps nobody from ending
                await self.flush()

    async def flush(self) -> None:
        """Tell the store what was seen. Raises `StoreDown`; what was not told is told next time."""
        while self._seen:
            tenant = next(iter(self._seen))[0]
            ours = {key: seen for key, seen in self._seen.items() if key[0] == tenant}
            for key in ours:
                del self._seen[key]
            try:
                await self._tell(tenant, ours)
            except BaseException:
                self._owe(ours)
                raise

    def _owe(self, ours: dict[tuple[str, str], _Seen]) -> None:
        """Tell it next time, unless something newer was seen."""
        for key, seen in ours.items():
            newer = self._seen.setdefault(key, seen)
            if newer.success_at is None:
                newer.success_at = seen.success_at
            if newer.error is None:
                newer.error_at, newer.error = seen.error_at, seen.error

    async def _tell(self, tenant: str, ours: dict[tuple[str, str], _Seen]) -> None:
        async with self._database.tenant(tenant) as session:
            for (_, name), seen in sorted(ours.items()):
                if seen.success_at is not None:
                    await health.succeeded(session, name, moment_of(seen.success_at))
                if seen.error_at is not None and seen.error is not None:
                    needs = seen.error is Reason.CONNECTION_NEEDS_AUTHORISATION
                    at = moment_of(seen.error_at)
                    await health.failed(session, name, at, seen.error.value, needs_authorisation=needs)

    async def _flush_often(self) -> None:
        while True:
            await self._clock.sleep(self._flush_seconds)
            with contextlib.suppress(Exception):  # the next time tells all of it
                await self.flush()
