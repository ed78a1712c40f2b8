"""Bytes from and to a mail server. However much it sends, no more is held than somebody asked for."""

import asyncio
import ssl
from collections.abc import Callable
from typing import cast

_HELD_BYTES = 128 * 1024
"""How much waits here before the server is made to wait."""
_ENDS = b"\r\n"


class Flood(Exception):  # noqa: N818 - the server does it, and it is mapped at once
    """The server says more than is taken."""


class Injected(Exception):  # noqa: N818 - whoever does it, and it is mapped at once
    """Words in the clear where the encryption begins."""


class Pipe(asyncio.Protocol):
    """One connection. `left` is how much is read in all; `Flood` is raised when there is more.

    Every method that reads raises `ConnectionError` when the server is gone.
    """

    def __init__(self, left: int) -> None:
        self._left = left
        self._held = bytearray()
        self._transport: asyncio.Transport | None = None
        self._is_paused = False
        self._is_over = False
        self._waiter: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    @classmethod
    async def connect(cls, host: str, port: int, tls: ssl.SSLContext | None, left: int) -> "Pipe":
        """A connection, encrypted from its first byte when there is a context. Raises `OSError`, `ssl.SSLError`."""
        pipe = cls(left)
        await asyncio.get_running_loop().create_connection(_only(pipe), host, port, ssl=tls)
        return pipe

    async def encrypt(self, host: str, tls: ssl.SSLContext) -> None:
        """Encrypt from here on. What came before in the clear is nobody's word: raises `Injected` when there is any."""
        if self._held:
            raise Injected("words in the clear after the answer to STARTTLS")
        # Nothing is awaited between the look above and the moment in which the loop stops to read in the clear.
        transport = await asyncio.get_running_loop().start_tls(self._connected, self, tls, server_hostname=host)
        if transport is None:
            raise ConnectionResetError("lost while it was being encrypted")
        self._transport = transport

    async def line(self, limit: int) -> bytes:
        """The next line, without its end."""
        looked = 0
        while (end := self._held.find(_ENDS, looked)) < 0:
            looked = max(len(self._held) - 1, 0)
            if looked > limit:
                raise Flood("a line without end")
            await self._more()
        if end > limit:
            raise Flood("a line that is too long")
        line = self._take(end)
        del self._held[: len(_ENDS)]
        return line

    async def exactly(self, count: int) -> bytes:
        """So many bytes."""
        if count > self._left:
            raise Flood("more than is taken in all")
        while len(self._held) < count:
            await self._more()
        return self._take(count)

    async def write(self, data: bytes) -> None:
        """Send it, and wait while the server does not take what was sent before."""
        if self._is_over:
            raise ConnectionResetError("the server is gone")
        self._connected.write(data)
        await self._writable.wait()

    def write_last(self, data: bytes) -> None:
        """Send it if there is somebody to send it to; nobody waits for what comes of it."""
        if self._transport is not None and not self._is_over:
            self._transport.write(data)

    def abort(self) -> None:
        """Let go of the connection at once. Calling it twice is harmless."""
        if self._transport is not None:
            self._transport.abort()

    def _take(self, count: int) -> bytes:
        self._left -= count
        if self._left < 0:
            raise Flood("more than is taken in all")
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken

    async def _more(self) -> None:
        if self._is_over:
            raise ConnectionResetError("the server is gone")
        if self._is_paused:
            self._is_paused = False
            self._connected.resume_reading()
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    @property
    def _connected(self) -> asyncio.Transport:
        if self._transport is None:
            raise ConnectionResetError("there is no connection")
        return self._transport

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """What the loop calls. uvloop's transports are not asyncio's by class, and have what they have."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """What the loop calls; it is told to stop when enough is held."""
        self._held += data
        if len(self._held) >= _HELD_BYTES and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the loop gives it
        """What the loop calls at the end; what is held can still be read."""
        self._is_over = True
        self._writable.set()
        self._wake()

    def pause_writing(self) -> None:
        """What the loop calls when the server takes nothing."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """What the loop calls when it does again."""
        self._writable.set()


def _only(pipe: Pipe) -> Callable[[], Pipe]:
    return lambda: pipe
