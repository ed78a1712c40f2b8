"""Follows the registry in the store: what is changed or stopped anywhere is known here within a second.

The version of every tenant's registry is asked for twice a second, and at once when PostgreSQL tells of a change. What
is stopped is known first; then the rows are read and handed over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping

from adapters.base import Clock, Fault
from gateway.background import end
from gateway.errors import Reason, Refusal, StartError
from gateway.registry.stops import Stops
from gateway.store import rows as store_rows
from gateway.store import stops as store_stops
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.notices import Notices
from gateway.store.rows import StoredRow

POLL_SECONDS = 0.4
RETRY_SECONDS = 5.0
"""How often rows that were not taken over are offered again: what spoke against them may have gone elsewhere."""
UNAVAILABLE = "What may be done here is not known for sure at the moment, so nothing was done. Try again later."

OnChange = Callable[[], Awaitable[tuple[str, ...]]]
"""Takes the follower's rows over, or says what speaks against it, and then all goes on as before."""
OnEvent = Callable[[str, Mapping[str, str]], None]
"""`registry_unreachable` and `registry_reached`."""


class RegistryFollower:
    """What the store says of every tenant, as it is now. Use it on one loop."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        stops: Stops,
        max_stale_seconds: float,
        on_event: OnEvent = lambda _name, _fields: None,
    ) -> None:
        """Nobody is asked yet: `start` does."""
        self.stops = stops
        self.rows: Mapping[str, tuple[StoredRow, ...]] = {}
        """The rows by tenant, as they were read last. A tuple that did not change is the same object."""
        self._database = database
        self._clock = clock
        self._max_stale_seconds = max_stale_seconds
        self._on_event = on_event
        self._notices = Notices(database.settings, clock, self.poke)
        self._asked = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()
        self._is_begun = asyncio.Event()
        self._on_change: OnChange | None = None
        self._unusable: Callable[[], Collection[str]] = frozenset
        self._newest: dict[str, int] = {}
        """The version of each tenant's registry in the store."""
        self._read: dict[str, int] = {}
        """The version of each tenant's rows here."""
        self._held: dict[str, int] = {}
        """The version that was taken over."""
        self._behind: dict[str, float] = {}
        """Since when a tenant's newest version is not held."""
        self._heard_at = float("-inf")
        self._fault = Fault.NOT_LOADED

    def hand_over(self, on_change: OnChange, unusable: Callable[[], Collection[str]] = frozenset) -> None:
        """Have changed rows taken over by this; without it only stops are followed. `unusable` says for which
        tenants the rows that were taken over do not load.
        """
        self._on_change, self._unusable = on_change, unusable

    async def start(self) -> None:
        """Read everything once, and follow it from now on. Raises `StartError` when the store does not answer."""
        if self._tasks:
            return
        try:
            await self._look()
        except (StoreDown, StoreRefused) as error:
            message = f"the registry cannot be read, nor what is stopped ({error}); start again when the database is up"
            raise StartError(message) from error
        self._notices.start()
        self._tasks = [
            asyncio.create_task(self._watch(), name="registry follower"),
            asyncio.create_task(self._offer(), name="registry offered"),
        ]

    async def stop(self) -> None:
        """Follow no longer. Harmless when it was not started."""
        tasks, self._tasks = self._tasks, []
        await self._notices.stop()
        for task in tasks:
            await end(task)

    def poke(self) -> None:
        """Look at once: something may have changed."""
        self._asked.set()

    async def take_over(self) -> tuple[str, ...]:
        """Have the rows as they are now taken over; what spoke against it. To be awaited once between `start` and the
        first call: from then on it happens by itself.
        """
        self._news.clear()
        self._is_begun.set()
        offered = dict(self._read)
        problems = await self._on_change() if self._on_change is not None else ()
        if not problems:
            unusable = self._unusable()
            self._held |= {tenant: version for tenant, version in offered.items() if tenant not in unusable}
        self._compare()
        return problems

    def is_fresh(self, tenant: str) -> bool:
        """Whether what is known of the tenant can be relied on: the store was heard lately, and nothing that it said
        waits to be taken over for long. What is stopped in a tenant that was never read nobody knows.
        """
        if tenant in self._newest and tenant not in self._read:
            return False
        now = self._clock.monotonic()
        oldest = min(self._heard_at, self._behind.get(tenant, now))
        return now - oldest <= self._max_stale_seconds

    @property
    def is_reached(self) -> bool:
        """Whether the store was heard lately."""
        return self._clock.monotonic() - self._heard_at <= self._max_stale_seconds

    def check(self, tenant: str) -> None:
        """Returns when something may be written or sent for the tenant. Raises `Refusal(registry_unavailable)`."""
        if not self.is_fresh(tenant):
            fault = Fault.NOT_LOADED if self.is_reached else self._fault
            raise Refusal(Reason.REGISTRY_UNAVAILABLE, UNAVAILABLE, fault=fault)

    async def _watch(self) -> None:
        was_heard = True
        while True:
            await self._woken(self._asked, POLL_SECONDS)
            try:
                await self._look()
            except Exception as error:  # noqa: BLE001 - whoever watches must go on watching
                self._fault = error.fault if isinstance(error, StoreDown) else Fault.ERROR
                self._tell_if(was_heard, "registry_unreachable", str(error))
                was_heard = False
            else:
                self._tell_if(not was_heard, "registry_reached", "")
                was_heard = True

    async def _woken(self, event: asyncio.Event, seconds: float) -> None:
        """Return when it is time, or somebody asked."""
        waits: list[asyncio.Future[object]] = [
            asyncio.ensure_future(event.wait()),
            asyncio.ensure_future(self._clock.sleep(seconds)),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        event.clear()

    async def _look(self) -> None:
        """Raises `StoreDown` or `StoreRefused` when not all could be read that is new."""
        asked_at = self._clock.monotonic()
        async with self._database.nobody() as session:
            versions = await store_rows.versions(session)
        # Of a tenant that is new nothing was stopped at the look before, which holds until it has been read.
        self._newest = {tenant: version for tenant, version in versions.items() if tenant in self._newest}
        # Until the next failure is known the store can only be late.
        self._heard_at, self._fault = asked_at, Fault.TIMEOUT
        failed: StoreDown | StoreRefused | None = None
        for tenant, version in versions.items():
            if self._read.get(tenant) != version:
                try:
                    await self._read_tenant(tenant, version)
                except (StoreDown, StoreRefused) as error:
                    failed = error  # the others are read all the same
        self._newest = versions
        self._compare()
        if failed is not None:
            raise failed

    async def _read_tenant(self, tenant: str, version: int) -> None:
        """The version was asked for first: what is read is as new as that at least."""
        async with self._database.tenant(tenant, is_read=True) as session:
            self.stops.hold(tenant, await store_stops.every(session))
            if self._on_change is not None:
                found = await store_rows.every(session)
                if found != self.rows.get(tenant):
                    self.rows = {**self.rows, tenant: found}
        self._read[tenant] = version
        self._news.set()

    def _compare(self) -> None:
        """Note since when a tenant's newest version is not what holds here."""
        now = self._clock.monotonic()
        holds = self._held if self._on_change is not None else self._read
        for tenant, version in self._newest.items():
            if holds.get(tenant) == version:
                self._behind.pop(tenant, None)
            else:
                self._behind.setdefault(tenant, now)

    async def _offer(self) -> None:
        """Rows are offered beside the watching: that takes a while, and what is stopped must not wait for it. What was
        refused is offered again after a while, and with whatever changes before.
        """
        await self._is_begun.wait()
        while True:
            await self._news.wait()
            while not await self._is_taken():
                await self._woken(self._news, RETRY_SECONDS)

    async def _is_taken(self) -> bool:
        try:
            return not await self.take_over()
        except Exception:  # noqa: BLE001 - as above; whoever takes over tells of it
            return False

    def _tell_if(self, is_news: bool, event: str, problem: str) -> None:
        if is_news:
            self._on_event(event, {"error": problem} if problem else {})
