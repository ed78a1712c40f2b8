"""A small HTTP listener that strangers cannot wear out: few connections at once, each with little time.

It takes its connections itself, a bounded number a second: greeting one costs the loop more than sending one, and the
loop is the gateway's. When there are too many, the oldest that has not proved anything makes room, so that whoever
holds connections open does not keep a reader out.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web

from adapters.base import Clock
from gateway.errors import StartError
from gateway.settings.part import UNIX
from gateway.surfaces.certificates import Certificates
from gateway.telemetry import Log

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_BACKLOG = 64
_MAX_LINE_BYTES = 1024
_MAX_FIELD_BYTES = 8190
_MAX_FIELDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one listener takes on."""

    connections: int = 64
    accept_seconds: float = 0.01
    """Between one connection and the next."""
    prove_seconds: float = 10.0
    """From the first byte to an answer for who has proved something; connections end then, whatever they are at."""
    idle_seconds: float = 150.0
    """How long a connection may wait for the next request after such an answer."""


class HttpListener:
    """Answers requests on one socket. `start` it, then `stop` it."""

    def __init__(
        self,
        answer: Answer,
        *,
        certificates: Certificates | None,
        on_wrong: Callable[[], None],
        clock: Clock,
        log: Log,
        bounds: Bounds,
    ) -> None:
        """`on_wrong` hears of each connection that was no HTTP, or ended while it was greeted."""
        self._answer = answer
        self._certificates = certificates
        self._on_wrong = on_wrong
        self._clock = clock
        self._log = log
        self._bounds = bounds
        self._peers: dict[_Peer, None] = {}
        self._sock: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._manager: web.Server | None = None

    async def start(self, sock: socket.socket) -> None:
        """Answer whoever connects to a bound socket, which is ours from here on. Raises `StartError`."""
        self._sock = sock
        sock.setblocking(False)
        try:
            sock.listen(_BACKLOG)
        except OSError as error:
            raise StartError(f"the metrics listener cannot listen: {error.strerror}") from error
        self._manager = web.Server(self._answer)
        self._accepting = asyncio.create_task(self._accept(sock, self._manager), name="metrics listener")

    async def stop(self) -> None:
        """Every connection is closed, and the socket. Harmless when it was not started."""
        accepting, self._accepting = self._accepting, None
        if accepting is not None:
            accepting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await accepting
        for peer in tuple(self._peers):
            peer.drop()
        manager, self._manager = self._manager, None
        if manager is not None:
            await manager.shutdown(timeout=1.0)
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    @staticmethod
    def has_proved(request: web.BaseRequest, *, seconds: float) -> None:
        """Who sent this may stay for so long, and is not the first to make room."""
        protocol = request.protocol
        assert isinstance(protocol, _Conversation)
        protocol.peer.has_proved(seconds)

    async def _accept(self, sock: socket.socket, manager: web.Server) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(sock)
            except OSError as error:  # gone before we took it, or no descriptors are left
                self._log.limited("metrics_accept_failed", error_type=type(error).__name__)
            else:
                self._make_room()
                peer = _Peer(self._bounds.prove_seconds, self._peers)
                peer.greeting = asyncio.create_task(self._greet(accepted, peer, manager))
            await self._clock.sleep(self._bounds.accept_seconds)

    def _make_room(self) -> None:
        if len(self._peers) >= self._bounds.connections:
            strangers = (peer for peer in self._peers if not peer.is_known)
            next(strangers, next(iter(self._peers))).drop()

    async def _greet(self, sock: socket.socket, peer: "_Peer", manager: web.Server) -> None:
        """TLS if there is any; from then on the conversation goes on by itself."""
        loop = asyncio.get_running_loop()
        context = self._certificates.context() if self._certificates is not None else None
        try:
            await loop.connect_accepted_socket(
                lambda: _Conversation(manager, peer, self._on_wrong),
                sock,
                ssl=context,
                ssl_handshake_timeout=self._bounds.prove_seconds if context is not None else None,
            )
        except OSError:  # not TLS, no certificate that we trust, or gone
            peer.drop()
            self._on_wrong()
        except asyncio.CancelledError:
            peer.drop()
            raise
        finally:
            peer.greeting = None


class _Peer:
    """One connection, and until when it may last."""

    def __init__(self, seconds: float, among: "dict[_Peer, None]") -> None:
        self.is_known = False
        self.greeting: asyncio.Task[None] | None = None
        self.transport: asyncio.BaseTransport | None = None
        self._among = among
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)
        among[self] = None

    def has_proved(self, seconds: float) -> None:
        self.is_known = True
        self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)

    def drop(self) -> None:
        """The connection ends now, whatever it is at."""
        self.gone()
        if self.greeting is not None:
            self.greeting.cancel()
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    def gone(self) -> None:
        self._timer.cancel()
        self._among.pop(self, None)


class _Conversation(web.RequestHandler):
    """HTTP on one connection."""

    __slots__ = ("_on_wrong", "peer")

    def __init__(self, manager: web.Server, peer: _Peer, on_wrong: Callable[[], None]) -> None:
        super().__init__(
            manager,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=0,  # the peer's own timer also ends a request that never ends
            access_log=None,  # type: ignore[arg-type] - aiohttp's own way to say: none
            max_line_size=_MAX_LINE_BYTES,
            max_field_size=_MAX_FIELD_BYTES,
            max_headers=_MAX_FIELDS,
            lingering_time=0,
            auto_decompress=False,
        )
        self.peer = peer
        self._on_wrong = on_wrong

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The greeting is over."""
        self.peer.transport = transport
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Nobody is there any more."""
        self.peer.gone()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What is no HTTP gets a short answer. The library would log each one, and quote it back to its sender."""
        del request, exc, message
        self._on_wrong()
        response = web.Response(status=status)
        response.force_close()
        return response


def bound_socket(address: str) -> socket.socket:
    """A socket at `unix:PATH` or `ADDRESS:PORT` that nobody can connect to yet. Raises `StartError`.

    A Unix socket's file is open to its owner alone until somebody opens it to more.
    """
    try:
        return _bound_unix(address.removeprefix(UNIX)) if address.startswith(UNIX) else _bound_tcp(address)
    except OSError as error:
        raise StartError(f"cannot listen on {address}: {error.strerror}") from error


def _bound_unix(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The file must never be open to more than its mode, not even between bind and chmod.
    before = os.umask(0o177)
    try:
        sock.bind(path)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(before)
    return sock


def _bound_tcp(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    family, kind, _, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(where)
    except OSError:
        sock.close()
        raise
    return sock
