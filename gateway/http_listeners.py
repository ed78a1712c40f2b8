"""What is served over HTTP beside gRPC, each at an address of its own: metrics, deliveries of vendors, keys."""

import contextlib
from collections.abc import Callable

from gateway.deployment import Machinery
from gateway.events.events import Events
from gateway.metrics.exposition import Exposition
from gateway.metrics.lag import LoopLag
from gateway.settings.load import Settings
from gateway.surfaces.certificates import OnEvent
from gateway.surfaces.events import EventServer
from gateway.surfaces.jwks import JwksServer
from gateway.surfaces.metrics import MetricsServer
from gateway.surfaces.sockets import serve_at


class HttpListeners:
    """Those that the settings name. `addresses` has each, with the real port, once it is started."""

    def __init__(self, machinery: Machinery, on_event: OnEvent) -> None:
        """`on_event` is told of certificates that were rotated or cannot be used."""
        self.addresses: dict[str, str] = {}
        self._machinery = machinery
        self._on_event = on_event

    async def start(
        self,
        stack: contextlib.AsyncExitStack,
        settings: Settings,
        *,
        events: Events | None,
        exposition: Callable[[], Exposition],
    ) -> None:
        """They serve until the stack ends, the last one first. Raises `StartError`."""
        await self._start_metrics(stack, settings, exposition)
        await self._start_events(stack, events)
        await self._start_keys(stack, settings)

    async def _start_metrics(
        self, stack: contextlib.AsyncExitStack, settings: Settings, exposition: Callable[[], Exposition]
    ) -> None:
        machinery = self._machinery
        if settings.metrics is None:
            return
        lag = LoopLag(machinery.clock, machinery.metrics.loop_was_late)
        stack.push_async_callback(lag.stop)
        await lag.start()
        server = MetricsServer(
            settings.metrics,
            exposition(),
            machinery.metrics,
            clock=machinery.clock,
            log=machinery.log,
            on_event=self._on_event,
        )
        self.addresses["metrics"] = await serve_at(stack, server, settings.metrics)

    async def _start_events(self, stack: contextlib.AsyncExitStack, events: Events | None) -> None:
        """Ended before the drain: what is delivered then is delivered again, to another replica."""
        machinery = self._machinery
        if events is None:
            return
        server = EventServer(
            events.settings,
            events.receiver,
            machinery.metrics,
            clock=machinery.clock,
            log=machinery.log,
            on_event=self._on_event,
        )
        self.addresses["events"] = await serve_at(stack, server, events.settings)

    async def _start_keys(self, stack: contextlib.AsyncExitStack, settings: Settings) -> None:
        """Those that verify who calls."""
        machinery = self._machinery
        if settings.assertions is None or settings.assertions.publish is None or machinery.assertions is None:
            return
        server = JwksServer(
            settings.assertions.publish,
            machinery.assertions.jwks_document,
            clock=machinery.clock,
            log=machinery.log,
            on_event=self._on_event,
        )
        self.addresses["keys"] = await serve_at(stack, server, settings.assertions.publish)
