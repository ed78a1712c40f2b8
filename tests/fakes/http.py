"""A server of documents that answers as it is told: well, badly, slowly, or not at all. And a fetcher without any."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from gateway.clients.http import Fetched, FetchFailed

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
BOMB_BYTES = 50_000_000


class DocumentServer:
    """Every path is answered by `answer`, which may be replaced at any time. Everything asked is kept in `seen`."""

    def __init__(self) -> None:
        self.url = ""
        self.answer: Handler = serving(b"{}")
        self.seen: list[Mapping[str, str]] = []
        """The headers of every request, in order."""
        self.is_asked = asyncio.Event()
        """Set at every request; a test clears it."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """What aiohttp calls."""
        self.seen.append(dict(request.headers))
        self.is_asked.set()
        return await self.answer(request)


@asynccontextmanager
async def document_server(tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[DocumentServer]:
    """Such a server on loopback, by TLS when there is a context. What it holds back ends with it."""
    server = DocumentServer()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls)
    await site.start()
    bound = runner.addresses[0][1]
    server.url = f"https://localhost:{bound}/keys" if tls else f"http://127.0.0.1:{bound}/keys"
    try:
        yield server
    finally:
        await runner.cleanup()


def serving(body: bytes, *, status: int = 200, etag: str = "", **headers: str) -> Handler:
    """This document; 304 without it to who has this etag already."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if etag and request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        tagged = {"ETag": etag, **headers} if etag else headers
        return web.Response(body=body, status=status, headers=tagged)

    return answer


async def hanging(_request: web.Request) -> web.StreamResponse:
    """Never an answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def dripping(request: web.Request) -> web.StreamResponse:
    """A document that comes a space at a time and never ends."""
    response = web.StreamResponse(headers={"Content-Length": "100000"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


async def resetting(request: web.Request) -> web.StreamResponse:
    """The connection is torn down without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def breaking_off(request: web.Request) -> web.StreamResponse:
    """Half of the body that was announced, then the end."""
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b"{" * 500)
    await resetting(request)
    return response


def redirecting(to: str, status: int = 302) -> Handler:
    """Go there."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": to}, body=b"{}")

    return answer


def chunked(total: int) -> Handler:
    """So many bytes, without saying so before."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for _ in range(total // 10_000):
            await response.write(b" " * 10_000)
        return response

    return answer


def bomb() -> Handler:
    """A few kilobytes that would become `BOMB_BYTES`."""
    return serving(gzip.compress(bytes(BOMB_BYTES)), **{"Content-Encoding": "gzip"})


async def setting_cookies(_request: web.Request) -> web.StreamResponse:
    """A document with a cookie to keep."""
    response = web.Response(body=b"{}")
    response.set_cookie("tracked", "yes")
    return response


class FakeFetcher:
    """`Fetches` without a network. Answers with `document`, or raises `failure`; waits while `gate` is there."""

    def __init__(self, document: bytes = b"") -> None:
        self.document = document
        self.failure: FetchFailed | None = None
        self.unusable: FetchFailed | None = None
        self.gate: asyncio.Event | None = None
        self.etag = ""
        self.asked: list[str] = []
        """The etag of every request."""
        self.is_closed = False

    def check(self) -> None:
        """Raises `unusable` when it is set."""
        if self.unusable is not None:
            raise self.unusable

    async def get(self, url: str, *, etag: str = "") -> Fetched:
        """As told at the moment of asking."""
        self.asked.append(etag)
        document, failure, tag = self.document, self.failure, self.etag
        if self.gate is not None:
            await self.gate.wait()
        if failure is not None:
            raise failure
        return Fetched(b"", etag, is_same=True) if tag and tag == etag else Fetched(document, tag, is_same=False)

    async def close(self) -> None:
        """No more."""
        self.is_closed = True
