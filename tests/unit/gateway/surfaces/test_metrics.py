"""The metrics listener: proof first, one page, and nothing else for anybody."""

import asyncio
import io
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.scrapes import OPEN_METRICS, FixedRendering, Tally, ask, connect

from gateway.errors import StartError
from gateway.metrics.families import Scrape
from gateway.settings.listeners import MetricsSettings
from gateway.surfaces.metrics import MetricsServer
from gateway.surfaces.sockets import bound_socket
from gateway.telemetry import configure

TOKEN = "t0ken-of-the-reader"


@dataclass
class Served:
    """One listener and what became of its requests."""

    server: MetricsServer
    where: Path
    tally: Tally
    clock: FakeClock
    stream: io.StringIO
    token: Path = field(default_factory=Path)

    @property
    def log(self) -> list[dict[str, Any]]:
        """What was logged."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


Serve = Callable[..., Awaitable[Served]]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="m") as name:
        yield Path(name)


@pytest.fixture
async def serve(folder: Path) -> AsyncIterator[Serve]:
    """Starts listeners on a Unix socket, with or without a token, and stops them."""
    started: list[MetricsServer] = []

    async def start(*, token: str | None = TOKEN, fails: bool = False) -> Served:
        where, token_file = folder / "s", folder / "token"
        if token is not None:
            token_file.write_text(token)
        settings = MetricsSettings(address=f"unix:{where}", token_file=token_file if token is not None else None)
        tally, stream, clock = Tally(), io.StringIO(), FakeClock()
        server = MetricsServer(settings, FixedRendering(fails=fails), tally, clock=clock, log=configure("info", stream))
        await server.start(bound_socket(settings.address))
        started.append(server)
        return Served(server, where, tally, clock, stream, token_file)

    yield start
    for server in started:
        await server.stop()


async def test_a_reader_with_the_token_gets_the_page(serve: Serve) -> None:
    """200, the body whole, its type, and counted."""
    served = await serve()
    reply = await ask(served.where, authorization=f"Bearer {TOKEN}")
    assert (reply.status, reply.body) == (200, b"# TYPE up gauge\nup 1\n")
    assert reply.headers["content-type"] == "text/plain"
    assert served.tally.results == [Scrape.OK]


async def test_the_format_is_by_accept(serve: Serve) -> None:
    """What the reader asks for is what the page is rendered in."""
    served = await serve()
    reply = await ask(served.where, authorization=f"Bearer {TOKEN}", accept=OPEN_METRICS)
    assert reply.headers["content-type"] == OPEN_METRICS
    assert reply.body.endswith(b"# EOF\n")


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}, Bearer {TOKEN}",
        "Bearer \xff\xfe",
    ],
)
@pytest.mark.parametrize(
    ("path", "method"), [("/metrics", "GET"), ("/metrics", "POST"), ("/secret", "GET"), ("/", "HEAD")]
)
async def test_without_the_token_every_request_is_answered_alike(
    serve: Serve, given: str | None, path: str, method: str
) -> None:
    """401 with the same bytes whatever was asked for, a closed connection, a count and a line in the log."""
    served = await serve()
    headers = {} if given is None else {"authorization": given}
    line = await connect(served.where)
    reply = await line.get(path, method=method, **headers)
    assert (reply.status, reply.body) == (401, b"")
    assert reply.headers["www-authenticate"] == "Bearer"
    assert await line.ended()
    await line.close()
    assert served.tally.results == [Scrape.UNAUTHENTICATED]
    assert [each["event"] for each in served.log] == ["metrics_unauthenticated"]
    assert TOKEN[:6] not in served.stream.getvalue()


async def test_two_authorizations_are_none(serve: Serve) -> None:
    """Which of them holds would be up to whoever stands in between."""
    served = await serve()
    line = await connect(served.where)
    header = f"Authorization: Bearer {TOKEN}\r\n"
    reply = await line.send(f"GET /metrics HTTP/1.1\r\nHost: x\r\n{header}{header}\r\n".encode())
    await line.close()
    assert reply.status == 401


async def test_the_scheme_may_be_written_in_any_case(serve: Serve) -> None:
    """RFC 9110, 11.1."""
    served = await serve()
    assert (await ask(served.where, authorization=f"bEARER {TOKEN}")).status == 200


async def test_a_token_that_was_rotated_is_in_use_within_a_second(serve: Serve) -> None:
    """The new one is let in, the old one is not."""
    served = await serve()
    assert (await ask(served.where, authorization=f"Bearer {TOKEN}")).status == 200
    served.token.write_text("the-next-one\n")
    served.clock.advance(1.0)
    assert (await ask(served.where, authorization=f"Bearer {TOKEN}")).status == 401
    assert (await ask(served.where, authorization="Bearer the-next-one")).status == 200


@pytest.mark.parametrize("content", [None, "", "\n", "x" * (1024 * 1024 + 1)])
async def test_without_a_usable_token_file_nobody_is_let_in(serve: Serve, content: str | None) -> None:
    """503 also for the former token, and for an empty one; it is said in the log, by the file's name alone."""
    served = await serve()
    served.token.unlink()
    if content is not None:
        served.token.write_text(content)
    served.clock.advance(1.0)
    for given in (f"Bearer {TOKEN}", "Bearer ", "Bearer"):
        assert (await ask(served.where, authorization=given)).status == 503
    assert served.tally.results == [Scrape.FAILED] * 3
    assert {each["event"] for each in served.log} == {"metrics_token_unusable"}
    assert str(served.token) in served.log[0]["problem"]


async def test_on_a_socket_without_a_token_whoever_can_open_it_may_read(serve: Serve) -> None:
    """The socket's mode and folder are the proof."""
    served = await serve(token=None)
    assert (await ask(served.where)).status == 200


@pytest.mark.parametrize(("path", "status"), [("/", 404), ("/metrics/", 404), ("/Metrics", 404), ("/metrics?x=1", 200)])
async def test_there_is_one_page(serve: Serve, path: str, status: int) -> None:
    """Any other path is not found; a query changes nothing."""
    served = await serve(token=None)
    assert (await ask(served.where, path)).status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
async def test_the_page_can_only_be_read(serve: Serve, method: str) -> None:
    """405 says what is allowed."""
    served = await serve(token=None)
    reply = await ask(served.where, method=method, content_length="0")
    assert (reply.status, reply.headers["allow"]) == (405, "GET")
    assert served.tally.results == [Scrape.WRONG]


async def test_a_page_that_cannot_be_rendered_is_500_and_tells_nothing(serve: Serve) -> None:
    """Type and place go to the log; the text of the error goes nowhere."""
    served = await serve(fails=True)
    reply = await ask(served.where, authorization=f"Bearer {TOKEN}")
    assert (reply.status, reply.body) == (500, b"")
    assert served.tally.results == [Scrape.FAILED]
    assert served.log[0]["event"] == "metrics_failed"
    assert "secret-of-a-part" not in served.stream.getvalue()


async def test_the_loop_turns_between_the_pieces(serve: Serve) -> None:
    """Calls need not wait for the whole page: each piece lets others run before the next."""
    served = await serve(token=None)
    turns: list[int] = []

    class Watched(FixedRendering):
        def pieces(self, accept: str = "") -> Iterator[bytes]:
            for n in range(5):
                asyncio.get_running_loop().call_soon(turns.append, n)
                assert turns == list(range(n))
                yield b"#\n"

    served.server._rendering = Watched()
    assert (await ask(served.where)).body == b"#\n" * 5


async def test_a_reader_keeps_its_connection(serve: Serve) -> None:
    """One connection for many scrapes, as Prometheus does it; each request shows its token."""
    served = await serve()
    line = await connect(served.where)
    for _ in range(3):
        assert (await line.get(authorization=f"Bearer {TOKEN}")).status == 200
    assert (await line.get()).status == 401
    assert await line.ended()
    await line.close()


async def test_strangers_cannot_fill_the_log(serve: Serve) -> None:
    """Each is counted, the first ten are written down."""
    served = await serve()
    for _ in range(15):
        await ask(served.where)
    assert len(served.tally.results) == 15
    assert len(served.log) == 10


async def test_a_server_that_cannot_start_lets_go_of_its_socket(folder: Path) -> None:
    """No certificate, no listener: the port is free again."""
    settings = MetricsSettings.model_validate(
        {
            "address": "127.0.0.1:0",
            "token_file": folder / "token",
            "tls": {"cert_file": folder / "no.pem", "key_file": folder / "no.pem"},
        }
    )
    clock, log = FakeClock(), configure("info", io.StringIO())
    server = MetricsServer(settings, FixedRendering(), Tally(), clock=clock, log=log)
    sock = bound_socket(settings.address)
    with pytest.raises(StartError, match=r"listener metrics: .*no\.pem cannot be read"):
        await server.start(sock)
    assert sock.fileno() == -1
    await server.stop()
