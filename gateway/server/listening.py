"""The server's life: listeners that serve what they name, and a drain that lets calls in flight finish."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import grpc
import grpc.aio

from gateway.errors import StartError
from gateway.server import health, options
from gateway.server.gate import Gate
from gateway.server.health import Health
from gateway.server.reflection import Reflection
from gateway.server.tls import credentials
from gateway.settings.listeners import Listener
from gateway.settings.parts import ServerSettings
from gateway.surfaces.certificates import OnEvent, unheard
from gateway.surfaces.sockets import SocketFile, for_us_alone

LAST_CALLS_SECONDS = 0.05
"""Before the sockets are closed: how long calls that come too late are held, so that none is lost in the closing."""
FLUSH_SECONDS = 0.3
"""After that: how long last answers may take to leave, when the drain has no more time."""
STUCK_SECONDS = 0.7
"""After everything was cancelled: how long we wait for handlers that do not end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A listener and what it serves beside health and reflection."""

    listener: Listener
    handlers: Sequence[grpc.ServiceRpcHandler]


class Server:
    """One gRPC server for each listener, so that each knows its own callers.

    `on_event` is told of certificates that were rotated or cannot be used (see `Certificates`), and `on_late` of each
    call that came when the server was stopping.
    """

    def __init__(
        self,
        servings: Sequence[Serving],
        settings: ServerSettings,
        *,
        monotonic: Callable[[], float],
        max_in_flight: int = 1000,
        on_event: OnEvent = unheard,
        on_late: Callable[[], None] = lambda: None,
    ) -> None:
        self._servings = servings
        self._settings = settings
        self._monotonic = monotonic
        self._max_in_flight = max_in_flight
        self._on_event = on_event
        self._gate = Gate(on_late)
        self._over = asyncio.Event()
        self._servers: list[grpc.aio.Server] = []
        self._sockets: list[SocketFile] = []
        self.health = Health(name for serving in servings for name in _names(serving))
        """What `grpc.health.v1` says on every listener."""
        self.addresses: dict[str, str] = {}
        """The address of each listener by its name, with the real port."""

    async def start(self) -> None:
        """Listen everywhere, or nowhere. Raises `StartError`."""
        try:
            for serving in self._servings:
                await self._start_one(serving)
        except BaseException:
            await self.stop()
            raise

    async def drain(self, within_seconds: float) -> None:
        """Take no new call: each is told UNAVAILABLE. Return when those in flight are over and the sockets gone;
        what is in flight after this time is cancelled. Takes little more than a second longer than that.
        """
        until = self._monotonic() + within_seconds
        self._refuse()
        await self._gate.emptied(within_seconds)
        self._gate.hold()
        await asyncio.sleep(LAST_CALLS_SECONDS if self._servers else 0)
        await self._close(max(until - self._monotonic(), FLUSH_SECONDS) if self._gate.active == 0 else FLUSH_SECONDS)

    async def stop(self) -> None:
        """The same at once: what is in flight is cancelled. Harmless after `drain`, or when it did not start."""
        self._refuse()
        await self._close(0)

    def _refuse(self) -> None:
        self.health.end()
        self._over.set()
        self._gate.close()

    async def _close(self, grace_seconds: float) -> None:
        """Close the connections, end what is left after the grace, remove the sockets."""
        stopping = [asyncio.ensure_future(server.stop(grace_seconds)) for server in self._servers]
        await asyncio.sleep(0)  # by now each client is being told that its connection takes no more
        self._gate.release()
        if stopping:
            await asyncio.wait(stopping, timeout=grace_seconds + STUCK_SECONDS)
        self._servers.clear()
        while self._sockets:
            self._sockets.pop().release()

    async def _start_one(self, serving: Serving) -> None:
        listener = serving.listener
        connections = options.connections_for(len(self._servings))
        server = grpc.aio.server(
            options=options.options_for(listener, self._settings, connections),
            maximum_concurrent_rpcs=options.requests_for(self._max_in_flight),
        )
        server.add_generic_rpc_handlers(self._handlers(serving))
        file = self._bind_socket(server, listener) if listener.is_unix else None
        if file is None:
            self._bind_port(server, listener)
        await server.start()
        self._servers.append(server)
        # Not before: a server that was not started cannot be stopped, and would keep its socket.
        if file is not None:
            file.open_to(int(listener.mode, 8), listener.group)

    def _handlers(self, serving: Serving) -> tuple[grpc.GenericRpcHandler, ...]:
        guarded = [self._gate.guard(handler) for handler in serving.handlers]
        if not serving.listener.reflection:
            return (*guarded, self.health.handler())
        reflection = Reflection((*_names(serving), health.SERVICE), self._over)
        return (*guarded, self.health.handler(), *reflection.handlers())

    def _bind_socket(self, server: grpc.aio.Server, listener: Listener) -> SocketFile:
        """Bound, and open to our own user alone."""
        file = SocketFile(listener.socket_path)
        file.acquire()
        self._sockets.append(file)
        try:
            with for_us_alone():
                server.add_insecure_port(f"unix:{listener.socket_path}")
        except RuntimeError as error:
            raise StartError(f"cannot listen on {listener.address}: {_short(error)}") from error
        self.addresses[listener.name] = listener.address
        return file

    def _bind_port(self, server: grpc.aio.Server, listener: Listener) -> None:
        try:
            port = self._opened_port(server, listener)
        except RuntimeError as error:
            raise StartError(f"cannot listen on {listener.address}: the port is taken or not ours") from error
        self.addresses[listener.name] = f"{listener.address.rpartition(':')[0]}:{port}"

    def _opened_port(self, server: grpc.aio.Server, listener: Listener) -> int:
        if listener.tls is None:
            return server.add_insecure_port(listener.address)
        tls = credentials(listener.name, listener.tls, self._monotonic, self._on_event)
        return server.add_secure_port(listener.address, tls)


def _names(serving: Serving) -> list[str]:
    return [name for handler in serving.handlers if (name := handler.service_name())]


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:120]
