"""What happens at vendors: received, kept for a while, and told to those who may know of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from adapters.base import Clock
from adapters.webhooks import Webhooks
from gateway.call import Principal
from gateway.events.base import Lends
from gateway.events.cursors import Cursors
from gateway.events.doors import Doors
from gateway.events.heads import Heads
from gateway.events.kept import KeptEvents
from gateway.events.receiving import ReceiveParts, Receiver
from gateway.events.watching import Watching, WatchParts
from gateway.ratelimit.memory import MemoryLimiter
from gateway.registry.catalogue import Catalogue
from gateway.rows import Rate
from gateway.settings.events import EventSettings
from gateway.store.database import Database
from gateway.store.sealing import Seal
from gateway.telemetry import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMeans:
    """What all of it works with."""

    database: Database
    seal: Seal
    catalogue: Callable[[], Catalogue]
    webhooks: Mapping[str, Webhooks]
    """By vendor."""
    lends: Callable[[], Lends]
    """Who resolves references under the settings of the moment."""
    check: Callable[[Principal], None]
    """Raises `Refusal` when an operator has stopped this caller."""
    most_in_all: int
    """How many may watch at once, whoever they are."""
    clock: Clock
    log: Log


class Events:
    """All of it, of one process."""

    def __init__(self, means: EventMeans, settings: EventSettings) -> None:
        self.settings = settings
        self._kept = KeptEvents(means.database, seal=means.seal, clock=means.clock, settings=settings)
        heads = Heads(self._number, clock=means.clock)
        self.watching = Watching(
            WatchParts(
                kept=self._kept,
                heads=heads,
                cursors=Cursors(means.seal),
                catalogue=means.catalogue,
                check=means.check,
                clock=means.clock,
                most_watchers=settings.most_watchers,
                most_in_all=means.most_in_all,
            )
        )
        self.receiver = Receiver(
            ReceiveParts(
                doors=Doors(means.catalogue, means.webhooks),
                lends=means.lends,
                kept=self._kept,
                heads=heads,
                take=MemoryLimiter(means.clock.monotonic).take,
                rate=Rate(per_minute=settings.rate.per_minute, burst=settings.rate.burst),
                log=means.log,
            )
        )

    async def forget(self, tenants: Iterable[str]) -> None:
        """Let go of what is too old, or too much. Call it every minute. Raises `StoreDown` and `StoreRefused`."""
        await self._kept.forget(tenants)

    def drain(self) -> None:
        """The gateway ends: nobody watches any more."""
        self.watching.drain()

    async def _number(self, tenant: str) -> int:
        return (await self._kept.head(tenant)).number
