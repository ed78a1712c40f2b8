"""The HTTP listener: where it binds, and how little a stranger can hold on to."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from fakes.scrapes import Line, connect

from gateway.surfaces.http import Bounds, HttpListener, Trouble
from gateway.surfaces.sockets import bound_socket


@pytest.fixture
def where() -> Iterator[Path]:
    """A path for a socket."""
    with tempfile.TemporaryDirectory(prefix="h") as name:
        yield Path(name) / "s"


class Site:
    """A listener whose readers prove themselves by asking for /known."""

    def __init__(self, **bounds: float) -> None:
        self.troubles: list[Trouble] = []
        self.asked = 0
        self.bounds = Bounds(**bounds)  # type: ignore[arg-type]
        self.listener = HttpListener(
            self.answer,
            name="test",
            tls=None,
            on_trouble=self.troubles.append,
            bounds=self.bounds,
        )

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """200 for anybody."""
        self.asked += 1
        if request.path == "/known":
            self.listener.has_proved(request, seconds=self.bounds.idle_seconds)
        return web.Response(text="yes")


@contextlib.asynccontextmanager
async def serving(site: Site, where: Path) -> AsyncIterator[Site]:
    """The listener, started and stopped."""
    await site.listener.start(bound_socket(f"unix:{where}"))
    try:
        yield site
    finally:
        await site.listener.stop()


async def is_gone(line: Line) -> bool:
    """The other side closes within two seconds."""
    async with asyncio.timeout(2.0):
        gone = await line.ended()
    await line.close()
    return gone


async def test_who_says_nothing_is_sent_away(where: Path) -> None:
    """After prove_seconds, whether nothing or half a request came."""
    async with serving(Site(prove_seconds=0.05), where):
        silent, slow = await connect(where), await connect(where)
        slow.writer.write(b"GET /known HTTP/1.1\r\nHos")
        assert await is_gone(silent)
        assert await is_gone(slow)


async def test_dripping_bytes_buy_no_time(where: Path) -> None:
    """The time counts from the connection on, not from the last byte."""
    async with serving(Site(prove_seconds=0.1), where) as site:
        line = await connect(where)

        async def drip() -> None:
            while True:
                line.writer.write(b"X: y\r\n")
                await asyncio.sleep(0.01)

        line.writer.write(b"GET /known HTTP/1.1\r\n")
        dripping = asyncio.create_task(drip())
        assert await is_gone(line)
        dripping.cancel()
        assert site.asked == 0


async def test_who_has_proved_something_may_stay_idle_for_longer(where: Path) -> None:
    """Beyond prove_seconds, and not beyond idle_seconds."""
    async with serving(Site(prove_seconds=0.05, idle_seconds=0.3), where):
        line, stranger = await connect(where), await connect(where)
        assert (await line.get("/known")).status == 200
        assert (await stranger.get("/other")).status == 200
        assert await is_gone(stranger)
        assert (await line.get("/known")).status == 200
        assert await is_gone(line)


async def test_the_oldest_stranger_makes_room(where: Path) -> None:
    """Who holds all places cannot keep a reader out, nor push out one that proved itself."""
    async with serving(Site(connections=3), where):
        reader = await connect(where)
        assert (await reader.get("/known")).status == 200
        crowd = [await connect(where) for _ in range(6)]
        for stranger in crowd[:4]:
            assert await is_gone(stranger)
        assert (await reader.get("/known")).status == 200
        assert (await crowd[5].get("/other")).status == 200
        for line in (reader, *crowd[4:]):
            await line.close()


async def test_when_all_have_proved_something_the_oldest_makes_room(where: Path) -> None:
    """The number of connections holds for readers too."""
    async with serving(Site(connections=2), where):
        lines = [await connect(where) for _ in range(2)]
        for line in lines:
            assert (await line.get("/known")).status == 200
        third = await connect(where)
        assert (await third.get("/known")).status == 200
        assert await is_gone(lines[0])
        for line in (lines[1], third):
            await line.close()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
        b"\x00" * 100 + b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /known HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /known HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET /known HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"GET /known HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /known HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=["tls", "zeros", "short", "version", "line", "field", "fields", "length", "smuggling", "http2"],
)
async def test_what_is_no_request_gets_400_and_is_not_quoted(where: Path, garbage: bytes) -> None:
    """The answer is short and the connection closed; the listener goes on, and nothing is logged by the library."""
    async with serving(Site(), where) as site:
        line = await connect(where)
        reply = await line.send(garbage)
        assert (reply.status, reply.body) == (400, b"")
        assert await is_gone(line)
        assert site.asked == 0
        assert set(site.troubles) == {Trouble.GARBAGE}
        after = await connect(where)
        assert (await after.get("/other")).status == 200
        await after.close()


async def test_a_body_is_not_waited_for(where: Path) -> None:
    """A request that announces one and never sends it is answered and closed."""
    async with serving(Site(), where):
        line = await connect(where)
        reply = await line.get("/known", method="POST", content_length="1000000")
        assert reply.status == 200
        assert await is_gone(line)


async def test_stop_closes_every_connection_and_the_socket(where: Path) -> None:
    """Also those that wait; nobody can connect afterwards. Stopping again is harmless."""
    site = Site()
    async with serving(site, where):
        idle, known = await connect(where), await connect(where)
        assert (await known.get("/known")).status == 200
    assert await is_gone(idle)
    assert await is_gone(known)
    with pytest.raises(ConnectionRefusedError):
        await connect(where)
    await site.listener.stop()


async def test_a_connection_that_was_just_taken_is_closed_by_stop(where: Path) -> None:
    """Its greeting has not begun: the socket is nobody's yet, and must not leak."""
    site = Site(accept_seconds=0.0)
    await site.listener.start(bound_socket(f"unix:{where}"))
    lines = [await connect(where) for _ in range(5)]
    await site.listener.stop()
    for line in lines:
        assert await is_gone(line)
