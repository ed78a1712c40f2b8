"""A small HTTP listener that strangers cannot wear out: few connections at once, each with little time.

It takes its connections itself, a bounded number a second: greeting one costs the loop more than sending one, and the
loop is the gateway's. When there are too many, the oldest that has not proved anything makes room, so that whoever
holds connections open does not keep a reader out.
"""

import asyncio
import functools
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from aiohttp import web

from gateway.errors import StartError
from gateway.settings.listeners import TlsSettings
from gateway.surfaces.certificates import Certificates, OnEvent, server_context

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


class Tls:
    """What the next connection is greeted with: the newest certificates of a listener that can be used."""

    def __init__(self, name: str, settings: TlsSettings, monotonic: Callable[[], float], on_event: OnEvent) -> None:
        """`name` is what events call the listener."""
        make = functools.partial(server_context, settings)
        self._certificates = Certificates(name, settings, make, monotonic=monotonic, on_event=on_event)
        self._context: ssl.SSLContext | None = None

    def load(self) -> None:
        """Raises `StartError`."""
        self._context = self._certificates.load()

    def context(self) -> ssl.SSLContext:
        """The newest that can be used. Call `load` first."""
        assert self._context is not None
        self._context = self._certificates.newer() or self._context
        return self._context


class Trouble(StrEnum):
    """What can be wrong with a connection before there is a request."""

    NOT_TAKEN = "not_taken"
    """It was gone, or this process has no descriptor left for it."""
    STRANGER = "stranger"
    """TLS refused it: no certificate that is trusted, or no TLS at all."""
    GARBAGE = "garbage"
    """It is no HTTP, or more of it than a request may have."""


class HttpListener:
    """Answers requests on one socket. `start` it, then `stop` it."""

    def __init__(
        self,
        answer: Answer,
        *,
        name: str = "HTTP",
        tls: Tls | None,
        on_trouble: Callable[[Trouble], None],
        bounds: Bounds,
    ) -> None:
        """`name` is what problems call the listener. Without `tls` connections are in the clear."""
        self._answer = answer
        self._tls = tls
        self._on_trouble = on_trouble
        self._bounds = bounds
        self._name = name
        self._peers: dict[_Peer, None] = {}
        self._sock: socket.socket | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._manager: web.Server | None = None

    async def start(self, sock: socket.socket) -> None:
        """Answer whoever connects to a bound socket (see `bound_socket`), which is ours from here on. Raises
        `StartError`.
        """
        try:
            if self._tls is not None:
                self._tls.load()
            self._listen(sock)
        except BaseException:
            sock.close()
            raise
        self._sock = sock
        self._manager = web.Server(self._answer)
        self._go_on(sock, self._manager)

    async def stop(self) -> None:
        """Every connection is closed, and the socket. Harmless when it was not started."""
        if self._pause is not None:
            self._pause.cancel()
        sock, self._sock = self._sock, None
        if sock is not None:
            asyncio.get_running_loop().remove_reader(sock)
            sock.close()
        greetings = [peer.greeting for peer in self._peers if peer.greeting is not None]
        for peer in tuple(self._peers):
            peer.drop()
        await asyncio.gather(*greetings, return_exceptions=True)
        manager, self._manager = self._manager, None
        if manager is not None:
            await manager.shutdown(timeout=1.0)

    def _listen(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        try:
            sock.listen(_BACKLOG)
        except OSError as error:
            raise StartError(f"the {self._name} listener cannot listen: {error.strerror}") from error

    @staticmethod
    def has_proved(request: web.BaseRequest, *, seconds: float) -> None:
        """Who sent this may stay for so long, and is not the first to make room."""
        protocol = request.protocol
        assert isinstance(protocol, _Conversation)
        protocol.peer.has_proved(seconds)

    def _go_on(self, sock: socket.socket, manager: web.Server) -> None:
        asyncio.get_running_loop().add_reader(sock, self._accept, sock, manager)

    def _accept(self, sock: socket.socket, manager: web.Server) -> None:
        """Take one connection, then none for a moment. Not `loop.sock_accept`: cancelled at the wrong moment it
        forgets a connection.
        """
        loop = asyncio.get_running_loop()
        loop.remove_reader(sock)
        self._pause = loop.call_later(self._bounds.accept_seconds, self._go_on, sock, manager)
        try:
            accepted, _ = sock.accept()
        except BlockingIOError:
            return
        except OSError:  # gone before we took it, or no descriptors are left
            self._on_trouble(Trouble.NOT_TAKEN)
            return
        accepted.setblocking(False)
        self._make_room()
        peer = _Peer(accepted, self._bounds.prove_seconds, self._peers)
        peer.greeting = asyncio.create_task(self._greet(peer, manager), name=f"{self._name} reader")

    def _make_room(self) -> None:
        if len(self._peers) >= self._bounds.connections:
            strangers = (peer for peer in self._peers if not peer.is_known)
            next(strangers, next(iter(self._peers))).drop()

    async def _greet(self, peer: "_Peer", manager: web.Server) -> None:
        """TLS if there is any; from then on the conversation goes on by itself."""
        loop = asyncio.get_running_loop()
        context = self._tls.context() if self._tls is not None else None
        try:
            await loop.connect_accepted_socket(
                lambda: _Conversation(manager, peer, self._on_trouble),
                peer.taken(),
                ssl=context,
                ssl_handshake_timeout=self._bounds.prove_seconds if context is not None else None,
            )
        except OSError:  # not TLS, no certificate that we trust, or gone
            peer.gone()
            if context is not None:
                self._on_trouble(Trouble.STRANGER)
        finally:
            peer.greeting = None


class _Peer:
    """One connection, and until when it may last."""

    def __init__(self, sock: socket.socket, seconds: float, among: "dict[_Peer, None]") -> None:
        self.is_known = False
        self.greeting: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self._sock: socket.socket | None = sock
        self._among = among
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)
        among[self] = None

    def taken(self) -> socket.socket:
        """The socket, for a transport to own."""
        sock, self._sock = self._sock, None
        assert sock is not None
        return sock

    def has_proved(self, seconds: float) -> None:
        """It may last so long from here on."""
        self.is_known = True
        self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.drop)

    def drop(self) -> None:
        """The connection ends now, whatever it is at."""
        self.gone()
        if self.greeting is not None:
            self.greeting.cancel()
        if self._sock is not None:
            self._sock.close()
        if self.transport is not None:
            self.transport.abort()

    def gone(self) -> None:
        """The connection has ended."""
        self._timer.cancel()
        self._among.pop(self, None)


class _Conversation(web.RequestHandler):
    """HTTP on one connection."""

    __slots__ = ("_on_trouble", "peer")

    def __init__(self, manager: web.Server, peer: _Peer, on_trouble: Callable[[Trouble], None]) -> None:
        super().__init__(
            manager,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # aiohttp's own way to say: none
            max_line_size=_MAX_LINE_BYTES,
            max_field_size=_MAX_FIELD_BYTES,
            max_headers=_MAX_FIELDS,
            lingering_time=0,
            auto_decompress=False,
        )
        self.peer = peer
        self._on_trouble = on_trouble

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The greeting is over."""
        self.peer.transport = cast("asyncio.Transport", transport)
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
        self._on_trouble(Trouble.GARBAGE)
        response = web.Response(status=status)
        response.force_close()
        return response
