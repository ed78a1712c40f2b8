"""A real web server on loopback with the pages that a fetching client stumbles over, and a silent inner target."""

# ruff: noqa: RUF001 - look-alike characters are what is tested

import asyncio
import gzip
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from fakes.resolver import FakeResolver

ARTICLE_TITLE = "How the toll house came to be"
ARTICLE_TEXT = "The keeper of the house wrote every cart into the book before the bar was lifted."
BOMB_BYTES = 50_000_000

ARTICLE = f"""<!doctype html><html lang="en"><head><title>{ARTICLE_TITLE}</title>
<meta name="author" content="Ann Keeper"><meta property="article:published_time" content="2026-05-04"></head>
<body><nav><a href="/">Home</a> <a href="/shop">Buy carts today</a></nav><article><h1>{ARTICLE_TITLE}</h1>
<p>{ARTICLE_TEXT} He did so in all weathers and at every hour of the day and of the night.</p>
<p>Travellers complained about the delay, yet nobody could say afterwards that a cart had gone by unseen.</p>
<p>Years later the book was the only record of who had used the road, and when, and with what load.</p>
</article><footer>Accept all cookies</footer></body></html>"""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that arrived."""

    method: str
    path: str
    host: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class FakeWeb:
    """What a test needs to know of the server. `is_dripping` is set while a slow body is being sent."""

    port: int = 0
    scheme: str = "http"
    seen: list[Seen] = field(default_factory=list)
    failures_left: int = 0
    is_dripping: asyncio.Event = field(default_factory=asyncio.Event)
    is_broken_off: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def base(self) -> str:
        """The server's URL, without a slash at the end."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def target(self) -> str:
        """The server as a private target."""
        return f"127.0.0.1:{self.port}"

    async def note(self, request: web.Request) -> None:
        """Keep what arrived."""
        body = await request.read()
        self.seen.append(Seen(request.method, request.path_qs, request.host, dict(request.headers), body))


@asynccontextmanager
async def open_web(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeWeb]:
    """A running server, gone when the block ends."""
    fake = FakeWeb(scheme="https" if tls else "http")
    app = web.Application()
    app.add_routes([web.route("*", path, _noted(fake, handler)) for path, handler in _PAGES.items()])
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    fake.port = runner.addresses[0][1]
    try:
        yield fake
    finally:
        await runner.cleanup()


def _noted(fake: FakeWeb, handler):
    async def handle(request: web.Request) -> web.StreamResponse:
        await fake.note(request)
        return await handler(fake, request)

    return handle


async def _article(_fake: FakeWeb, _request: web.Request) -> web.StreamResponse:
    return web.Response(text=ARTICLE, content_type="text/html")


async def _json(_fake: FakeWeb, _request: web.Request) -> web.StreamResponse:
    return web.json_response({"answer": 42})


async def _typed(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    """The bytes of `hex` under the Content-Type of `type`."""
    kind = request.query.get("type")
    headers = {"Content-Type": kind} if kind else {}
    return web.Response(body=bytes.fromhex(request.query["hex"]), headers=headers)


async def _redirect(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    headers = {"Location": request.query["to"], "Set-Cookie": "session=stolen"}
    return web.Response(status=int(request.query.get("status", "302")), headers=headers)


async def _chain(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    """`/chain/3` takes three redirects to `/article`; `to` is where it ends instead."""
    left = int(request.match_info["left"])
    end = request.query.get("to", "/article")
    return web.Response(status=302, headers={"Location": f"/chain/{left - 1}?to={end}" if left > 1 else end})


async def _status(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    response = web.Response(status=int(request.match_info["code"]), text="nothing to see")
    for value in request.query.getall("retry_after", ()):
        response.headers.add("Retry-After", value)
    return response


async def _flaky(fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    """Fails `failures_left` times, by a status or by breaking the connection off."""
    if fake.failures_left <= 0:
        return web.Response(text="at last")
    fake.failures_left -= 1
    if request.query.get("how") == "reset":
        return await _reset(fake, request)
    return web.Response(status=int(request.query.get("how", "503")))


async def _reset(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _short(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    """Promises 100 bytes, sends five, and is gone."""
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"hello")
    if request.transport is not None:
        request.transport.close()
    return response


async def _drip(fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    """One byte every 20 ms, without end."""
    response = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await response.prepare(request)
    try:
        while True:
            await response.write(b".")
            fake.is_dripping.set()
            await asyncio.sleep(0.02)
    except (ConnectionError, asyncio.CancelledError):
        fake.is_broken_off.set()
        raise


async def _silent(fake: FakeWeb, _request: web.Request) -> web.StreamResponse:
    """Takes the request and says nothing."""
    fake.is_dripping.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        fake.is_broken_off.set()
        raise
    return web.Response()


async def _encoded(_fake: FakeWeb, request: web.Request) -> web.StreamResponse:
    body, encoding = _ENCODED[request.match_info["how"]]
    return web.Response(body=body, headers={"Content-Encoding": encoding, "Content-Type": "text/plain"})


def _raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


_ENCODED = {
    "gzip": (gzip.compress(b"plain words"), "gzip"),
    "members": (gzip.compress(b"plain ") + gzip.compress(b"words"), "gzip"),
    "deflate": (zlib.compress(b"plain words"), "deflate"),
    "raw-deflate": (_raw_deflate(b"plain words"), "deflate"),
    "bomb": (gzip.compress(b"0" * BOMB_BYTES), "gzip"),
    "truncated": (gzip.compress(b"plain words" * 100)[:-12], "gzip"),
    "garbage": (b"not compressed at all", "gzip"),
    "unasked": (b"whatever", "br"),
    "stacked": (gzip.compress(gzip.compress(b"plain words")), "gzip, gzip"),
}

_PAGES = {
    "/": _article,
    "/article": _article,
    "/json": _json,
    "/typed": _typed,
    "/redirect": _redirect,
    "/chain/{left}": _chain,
    "/status/{code}": _status,
    "/flaky": _flaky,
    "/reset": _reset,
    "/short": _short,
    "/drip": _drip,
    "/silent": _silent,
    "/encoded/{how}": _encoded,
}


INNER_FORMS = [
    *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7F.1"),
    *("0x7f.0x0.0x0.0x1", "017700000001", "0177.0.0.1", "0177.0.0.01", "0", "0.0.0.0", "0x0", "0.1"),
    *("１２７.0.0.1", "127。0。0。1", "127．0．0．1", "①②⑦.0.0.1", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]"),
    *("[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::80ff:fffe]", "[fe80::5efe:127.0.0.1]"),
    *("[2606:4700::5efe:127.0.0.1]", "[fec0::1]", "[fc00::1]", "[ff02::1]", "10.0.0.1", "169.254.169.254"),
    *("100.100.100.200", "192.0.0.192", "168.63.129.16", "[fd00:ec2::254]", "inner.test", "mixed.test"),
]
"""Spellings of hosts inside, each of which leads to loopback or another inner network (G16)."""


def inner_resolver() -> FakeResolver:
    """What the names among them lead to, and one that is rebound between two questions."""
    return FakeResolver(
        {
            "inner.test": [["127.0.0.1"]],
            "mixed.test": [["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1"]],
            "rebound.test": [["127.0.0.2"], ["127.0.0.1"]],
            "site.test": [["127.0.0.1"]],
        }
    )


@dataclass(slots=True)
class Inner:
    """A listener that nobody may reach: it counts who does."""

    port: int = 0
    connections: int = 0
    received: int = 0


@asynccontextmanager
async def open_inner() -> AsyncIterator[Inner]:
    """An inner service on loopback, IPv4 and IPv6, on one port."""
    inner = Inner()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner.connections += 1
        inner.received += len(await reader.read(1024))
        writer.close()

    first = await asyncio.start_server(accept, "127.0.0.1", 0)
    inner.port = first.sockets[0].getsockname()[1]
    servers = [first]
    if _has_ipv6():
        servers.append(await asyncio.start_server(accept, "::1", inner.port))
    try:
        yield inner
    finally:
        for server in servers:
            server.close()
            await server.wait_closed()


@asynccontextmanager
async def open_raw(answer: bytes) -> AsyncIterator[int]:
    """The port of a server that answers every request with these bytes and hangs up."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
