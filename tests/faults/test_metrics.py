"""The metrics listener under attack: a pod's agent shares its loopback, and must not reach the calls through it."""

import asyncio
import io
import os
import random
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme
from fakes.scrapes import FixedRendering, Line, Tally, ask, connect, until

from gateway.clock import SystemClock
from gateway.metrics.families import Scrape
from gateway.settings.listeners import MetricsSettings
from gateway.surfaces.http import Bounds
from gateway.surfaces.metrics import MetricsServer
from gateway.surfaces.sockets import bound_socket
from gateway.telemetry import configure

TOKEN = "faults-token"


class Site:
    """A listener with a token, on a port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tally = Tally()
        self.stream = io.StringIO()
        self.port = 0
        (folder / "token").write_text(TOKEN)

    @asynccontextmanager
    async def served(
        self, bounds: Bounds, *, tls: dict[str, Path] | None = None, rendering: FixedRendering | None = None
    ) -> AsyncIterator["Site"]:
        """Started, and stopped."""
        settings = MetricsSettings.model_validate(
            {"address": "127.0.0.1:0", "token_file": self.folder / "token", "tls": tls}
        )
        log = configure("info", self.stream)
        shown = rendering or FixedRendering()
        self.server = server = MetricsServer(settings, shown, self.tally, clock=SystemClock(), log=log, bounds=bounds)
        sock = bound_socket(settings.address)
        self.port = sock.getsockname()[1]
        await server.start(sock)
        try:
            yield self
        finally:
            await server.stop()

    @property
    def connections(self) -> int:
        """How many the listener holds."""
        return len(self.server._listener._peers)

    async def read(self, context: ssl.SSLContext | None = None) -> int:
        """A scrape by a reader, and its status."""
        return (await ask(self.port, context=context, authorization=f"Bearer {TOKEN}")).status


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Not started yet."""
    return Site(tmp_path)


async def test_a_crowd_that_holds_every_place_does_not_keep_the_reader_out(site: Site) -> None:
    """Ten times as many strangers as places, half of them in the middle of a request: the scrape succeeds."""
    async with site.served(Bounds(connections=20, accept_seconds=0.0)):
        crowd: list[Line] = []
        for n in range(200):
            stranger = await connect(site.port)
            if n % 2:
                stranger.writer.write(b"GET /metrics HTTP/1.1\r\nHost:")
            crowd.append(stranger)
        assert await site.read() == 200
        for stranger in crowd:
            await stranger.close()
        assert await site.read() == 200


async def test_handshakes_that_never_end_do_not_keep_the_reader_out(site: Site, tmp_path: Path) -> None:
    """A stranger that says nothing where TLS is due counts as one, and makes room."""
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    tls = {"cert_file": tmp_path / "cert.pem", "key_file": tmp_path / "key.pem"}
    async with site.served(Bounds(connections=10, accept_seconds=0.0), tls=tls):
        crowd = [await connect(site.port) for _ in range(60)]
        assert await site.read(context) == 200
        for stranger in crowd:
            await stranger.close()


async def test_connections_are_taken_at_a_bounded_rate(site: Site) -> None:
    """Strangers who come without end cost the loop so many greetings a second and no more."""
    async with site.served(Bounds(accept_seconds=0.05)):
        loop = asyncio.get_running_loop()
        began = loop.time()
        replies = await asyncio.gather(*(ask(site.port) for _ in range(10)))
        assert loop.time() - began >= 9 * 0.05
        assert {reply.status for reply in replies} == {401}
        assert site.tally.results == [Scrape.UNAUTHENTICATED] * 10


async def test_random_bytes_end_in_a_closed_connection_and_nothing_else(site: Site) -> None:
    """Whatever comes: no exception reaches the loop, no traceback the log, and the reader is answered after it."""
    chance = random.Random(7)
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
    starts = (b"", b"GET ", b"GET /metrics HTTP/1.1\r\n", b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer ")
    async with site.served(Bounds(accept_seconds=0.0, prove_seconds=0.5)):
        for n in range(80):
            line = await connect(site.port)
            line.writer.write(starts[n % len(starts)] + chance.randbytes(chance.randrange(1, 3000)) + b"\r\n\r\n")
            line.writer.write_eof()
            async with asyncio.timeout(5):
                assert b" 200 " not in await answer_of(line)
            await line.close()
        assert await site.read() == 200
    assert unhandled == []
    assert "Traceback" not in site.stream.getvalue()
    assert "library_message" not in site.stream.getvalue()


async def answer_of(line: Line) -> bytes:
    """The first bytes of the answer, if there is one."""
    try:
        return (await line.reader.read())[:64]
    except ConnectionError:
        return b""


async def test_when_descriptors_run_out_the_listener_waits_and_goes_on(site: Site) -> None:
    """It neither spins nor ends: what it could not take is counted, and the reader is answered when there are some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with site.served(Bounds(accept_seconds=0.01)):
        assert await site.read() == 200
        waiting = await connect(site.port)
        assert (await waiting.get()).status == 401
        await waiting.close()
        reader = await connect_with_none_left(site, soft, hard)
        assert (await reader.get(authorization=f"Bearer {TOKEN}")).status == 200
        await reader.close()
        assert Scrape.WRONG in site.tally.results
        assert len(site.tally.results) < 100


async def connect_with_none_left(site: Site, soft: int, hard: int) -> Line:
    """A reader that is connected, while this process had no descriptor left to take it with."""
    sock = socket.create_connection(("127.0.0.1", site.port))  # the kernel does its part without us
    lowest_free = os.dup(sock.fileno())
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        await until(lambda: Scrape.WRONG in site.tally.results)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return Line(*await asyncio.open_connection(sock=sock))


async def test_a_reader_that_does_not_read_is_dropped(site: Site) -> None:
    """What is kept for it ends with its time."""
    rendering = FixedRendering(padding=16 * 1024 * 1024)
    async with site.served(Bounds(accept_seconds=0.0, idle_seconds=0.2), rendering=rendering) as served:
        line = await connect(site.port)
        line.writer.transport.pause_reading()
        line.writer.write(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        await until(lambda: served.tally.results == [Scrape.OK])
        await until(lambda: served.connections == 0)
        await line.close()
