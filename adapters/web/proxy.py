"""The only way out of the browser: a forward proxy that connects to what the guard has checked, and to nothing else.

It lives as long as one screenshot, listens on loopback, and asks for a password that only that screenshot's browser
has: the other processes of the machine must not get out through it.
"""

import asyncio
import base64
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.dialler import Dialler, Streams
from adapters.web.heads import END, MAX_HEAD_BYTES, Asked, BadHead, read_answer, read_request

USER = "tollhouse"
_STEP_BYTES = 64 * 1024
_SILENCE_SECONDS = 20.0
_MAX_ASIDES = 5
_MAX_PROBLEMS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one screenshot."""

    received_bytes: int = 64 * 1024 * 1024
    sent_bytes: int = 4 * 1024 * 1024
    at_once: int = 64
    in_all: int = 1000


@dataclass(slots=True)
class PinningProxy:
    """One that runs. `problems` says of each `(host, port)` that was not reached why."""

    dialler: Dialler
    hosts: tuple[str, ...]
    password: str = field(repr=False)
    limits: Limits
    port: int = 0
    received: int = 0
    sent: int = 0
    is_over: bool = False
    problems: dict[tuple[str, int], AdapterError] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _count: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the browser, for one request, in a task that may be ended: asyncio logs the end of this."""
        try:
            if len(self._tasks) < self.limits.at_once and not self.is_over:
                task = asyncio.create_task(self._heard((reader, writer)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                await asyncio.wait({task})
        finally:
            writer.close()

    async def end(self) -> None:
        """Every connection is broken off."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _heard(self, browser: Streams) -> None:
        """Nothing leaves this but cancellation."""
        try:
            await self._served(browser)
        except (BadHead, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await self._say(browser[1], 400)
        except (OSError, _TooMuch):  # somebody hung up, or was silent for too long
            pass

    async def _served(self, browser: Streams) -> None:
        async with asyncio.timeout(_SILENCE_SECONDS):
            head = await browser[0].readuntil(END)
        asked = read_request(head)
        if not self._is_proved(asked.proof):
            await self._say(browser[1], 407)
            return
        self._count += 1  # not before: others on this machine must not use up what the browser has
        if self._count > self.limits.in_all:
            raise _TooMuch
        try:
            site = await self._reached(asked)
        except AdapterError as error:
            await self._refuse(browser[1], asked, error)
            return
        try:
            await (self._tunnel if asked.is_tunnel else self._exchange)(asked, browser, site)
        finally:
            site[1].close()

    async def _reached(self, asked: Asked) -> Streams:
        url = asked.url
        if self.hosts and url.host not in self.hosts and f"{url.host}:{url.port}" not in self.hosts:
            message = "The URL's host is not among the hosts of this connection."
            raise AdapterError(ErrorKind.ADDRESS_REFUSED, message, happened=Happened.NO)
        return await self.dialler.connect(url.host, url.port)

    async def _tunnel(self, _asked: Asked, browser: Streams, site: Streams) -> None:
        browser[1].write(b"HTTP/1.1 200 Connection established" + END)
        both = [asyncio.create_task(self._up(browser, site)), asyncio.create_task(self._down(site, browser))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _exchange(self, asked: Asked, browser: Streams, site: Streams) -> None:
        """One request and its answer. What the browser sends after its body is not sent on."""
        self._count_sent(len(asked.onward))
        site[1].write(asked.onward)
        try:
            await self._up(browser, site, asked.body_bytes)
            head = await self._answer(site[0])
        except (BadHead, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            message = "The site broke the connection off, or its answer is not proper HTTP."
            error = AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.RESET)
            await self._refuse(browser[1], asked, error)
            return
        browser[1].write(head)
        await self._down(site, browser)

    async def _refuse(self, writer: asyncio.StreamWriter, asked: Asked, error: AdapterError) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems[asked.url.host, asked.url.port] = error
        await self._say(writer, 403 if error.kind is ErrorKind.ADDRESS_REFUSED else 502)

    async def _answer(self, site: asyncio.StreamReader) -> bytes:
        """The head of the answer, after any that only say that it will come."""
        for _ in range(_MAX_ASIDES):
            async with asyncio.timeout(_SILENCE_SECONDS):
                head = await site.readuntil(END)
            self._count_received(len(head))
            status, onward = read_answer(head)
            if status >= 200:
                return onward
        raise BadHead

    async def _up(self, browser: Streams, site: Streams, most: int | None = None) -> None:
        left = most
        while left is None or left > 0:
            step = await browser[0].read(_STEP_BYTES if left is None else min(left, _STEP_BYTES))
            if not step:
                return
            self._count_sent(len(step))
            left = None if left is None else left - len(step)
            site[1].write(step)
            await site[1].drain()

    async def _down(self, site: Streams, browser: Streams) -> None:
        while step := await site[0].read(_STEP_BYTES):
            self._count_received(len(step))
            browser[1].write(step)
            await browser[1].drain()

    def _count_sent(self, count: int) -> None:
        self.sent += count
        if self.sent > self.limits.sent_bytes:
            raise self._too_much()

    def _count_received(self, count: int) -> None:
        self.received += count
        if self.received > self.limits.received_bytes:
            raise self._too_much()

    def _too_much(self) -> "_TooMuch":
        """Nothing passes any more, on no connection."""
        self.is_over = True
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        return _TooMuch()

    def _is_proved(self, proof: bytes) -> bool:
        wanted = b"Basic " + base64.b64encode(f"{USER}:{self.password}".encode())
        return hmac.compare_digest(proof, wanted)

    async def _say(self, writer: asyncio.StreamWriter, status: int) -> None:
        """An answer of the proxy's own. It is empty: there is nothing in it to take a picture of, or to read."""
        asks = b'Proxy-Authenticate: Basic realm="tollhouse"\r\n' if status == 407 else b""
        head = b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n" % status
        with suppress(OSError):
            writer.write(head + asks + b"\r\n")
            await writer.drain()


class _TooMuch(Exception):  # noqa: N818 - the end of a connection
    """More than one screenshot may have."""


@asynccontextmanager
async def pinning_proxy(
    dialler: Dialler, hosts: tuple[str, ...], password: str, limits: Limits | None = None
) -> AsyncIterator[PinningProxy]:
    """A proxy on a free port of 127.0.0.1 for the length of the block. `hosts` are the connection's, all when empty."""
    proxy = PinningProxy(dialler, hosts, password, limits or Limits())
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.end()
        await server.wait_closed()
