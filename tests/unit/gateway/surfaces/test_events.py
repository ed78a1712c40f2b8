"""The listener that vendors deliver to: what is proved is taken, everything else is answered alike."""

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.clock import FakeClock
from fakes.events import SECRET, Post, event_body, headers_of, post_over
from fakes.scrapes import Line, Reply, connect, until
from real.stores import locked, sqlite_settings

from adapters.base import Secret
from gateway.errors import Reason, Refusal, StartError
from gateway.metrics.events import DELIVERIES
from gateway.settings.events import EventSettings
from gateway.settings.limits import RateSettings
from gateway.settings.store import StoreSettings
from gateway.store.failures import StoreDown
from gateway.surfaces.events import HELD_BYTES, LATELY_SECONDS, REFUSED_SECONDS, EventServer, bounds_of
from gateway.surfaces.http import Bounds
from gateway.surfaces.sockets import bound_socket

MOST = 64 * 1024
BODY = event_body()
DOOR = "/v1/events/acme/tracker"
SHORT = Bounds(prove_seconds=5.0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path, for sockets."""
    with tempfile.TemporaryDirectory(prefix="e") as name:
        yield Path(name)


@asynccontextmanager
async def serving(store: StoreSettings, folder: Path, **changes: Any) -> AsyncIterator[Post]:
    """A post with a listener at `s` in the folder, whose refusals take no time."""
    most = {"max_body_bytes": MOST, "rate": RateSettings(per_minute=6000, burst=1000), **changes.pop("settings", {})}
    settings = EventSettings(address=f"unix:{folder / 's'}", **most)
    clock = changes.pop("clock", None) or FakeClock(sleeps_pass=True)
    async with post_over(store, settings=settings, clock=clock) as post:
        server = EventServer(
            settings, post.receiver, post.metrics, clock=post.clock, log=post.log, **{"bounds": SHORT, **changes}
        )
        await server.start(bound_socket(settings.address))
        try:
            yield post
        finally:
            await server.stop()


@pytest.fixture
async def post(tmp_path: Path, folder: Path) -> AsyncIterator[Post]:
    """The usual one."""
    async with serving(await sqlite_settings(tmp_path), folder) as one:
        yield one


def _raw(body: bytes, headers: Mapping[str, str], path: str = DOOR, length: int | None = None) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    size = len(body) if length is None else length
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n{fields}\r\n".encode("latin-1") + body


async def _send(folder: Path, raw: bytes) -> Reply:
    line = await connect(folder / "s")
    try:
        return await line.send(raw)
    finally:
        await line.close()


async def _deliver(
    folder: Path, body: bytes = BODY, path: str = DOOR, headers: Mapping[str, str] | None = None
) -> Reply:
    return await _send(folder, _raw(body, headers_of(body) if headers is None else headers, path))


def _counted(post: Post) -> dict[str, int]:
    (readings,) = (readings for family, readings in post.metrics.read() if family is DELIVERIES)
    return {name: int(count) for (name,), count in readings if count}  # type: ignore[arg-type]


async def test_a_signed_delivery_is_taken_and_a_repetition_too(post: Post, folder: Path) -> None:
    """Once it is durable. Both are answered 200, empty; it is one event."""
    for _ in range(2):
        reply = await _deliver(folder)
        assert (reply.status, reply.body, reply.headers["server"]) == (200, b"", "")
    assert (await post.kept.head("acme")).number == 1
    assert _counted(post) == {"kept": 1, "repeated": 1}


async def test_a_vendor_may_keep_its_connection(post: Post, folder: Path) -> None:
    """For the next delivery."""
    line = await connect(folder / "s")
    for number in range(3):
        body = event_body(f"v{number}")
        assert (await line.send(_raw(body, headers_of(body)))).status == 200
    await line.close()
    assert (await post.kept.head("acme")).number == 3


async def test_a_greeting_is_answered_with_its_body(post: Post, folder: Path) -> None:
    """And its type."""
    reply = await _deliver(folder, orjson.dumps({"challenge": "3eZbrw1a"}))
    assert (reply.status, reply.body, reply.headers["content-type"]) == (200, b"3eZbrw1a", "text/plain")
    assert _counted(post) == {"greeted": 1}


async def test_whatever_is_not_proved_is_answered_in_the_same_bytes(post: Post, folder: Path) -> None:
    """Unsigned, forged, stale, malformed, of no connection, of no tenant, of no path; and after the same time."""
    good, broken = headers_of(BODY), b"no json"
    cases = [
        (BODY, DOOR, {}),
        (BODY, DOOR, headers_of(BODY, secret="guessed")),
        (BODY, DOOR, headers_of(BODY, at=1.0)),
        (broken, DOOR, headers_of(broken)),
        (BODY, "/v1/events/acme/none", good),
        (BODY, "/v1/events/acme/none", {}),
        (BODY, "/v1/events/rival/tracker", good),
        (BODY, "/v1/events/acme", good),
        (BODY, "/v1/events/acme/tracker/", good),
        (BODY, "/v1/events/ACME/tracker", good),
        (BODY, "/metrics", {}),
    ]
    answers = set()
    for body, path, headers in cases:
        line = await connect(folder / "s")
        line.writer.write(_raw(body, headers, path))
        raw = await asyncio.wait_for(line.reader.read(), 5)  # to the end: the connection is closed
        answers.add(b"\r\n".join(one for one in raw.split(b"\r\n") if not one.startswith(b"Date:")))
        await line.close()
    assert len(answers) == 1
    assert answers.pop().startswith(b"HTTP/1.1 401 ")
    assert sum(post.clock.slept) == pytest.approx(REFUSED_SECONDS * len(cases))
    assert (await post.kept.head("acme")).number == 0
    assert SECRET not in post.stream.getvalue()


async def test_two_signatures_are_none(post: Post, folder: Path) -> None:
    """Which of them holds would be up to whoever reads."""
    good = "".join(f"{name}: {value}\r\n" for name, value in headers_of(BODY).items())
    twice = f"X-Signature: {'0' * 64}\r\n{good}"
    raw = f"POST {DOOR} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n{twice}\r\n".encode() + BODY
    assert (await _send(folder, raw)).status == 401
    assert _counted(post) == {"unsigned": 1}


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE"])
async def test_nothing_else_is_done_for_anybody(post: Post, folder: Path, method: str) -> None:
    """Whatever is asked for."""
    for path in (DOOR, "/v1/events/acme/none"):
        line = await connect(folder / "s")
        reply = await line.get(path, method=method)
        assert (reply.status, reply.headers["allow"]) == (405, "POST")
        await line.close()
    assert post.webhooks.received == 0


@pytest.mark.parametrize("path", [DOOR, "/v1/events/acme/none"])
async def test_a_body_that_says_to_be_too_large_is_not_read(post: Post, folder: Path, path: str) -> None:
    """Not a byte of it."""
    reply = await _send(folder, _raw(b"", headers_of(b""), path, length=MOST + 1))
    assert reply.status == 413
    assert (_counted(post), post.webhooks.received) == ({"too_large": 1}, 0)


async def test_the_largest_body_is_taken(post: Post, folder: Path) -> None:
    """One byte more is not."""
    body = event_body(data={"x": ""})
    whole = event_body(data={"x": "y" * (MOST - len(body))})
    assert len(whole) == MOST
    assert (await _deliver(folder, whole)).status == 200
    assert (await _deliver(folder, event_body(data={"x": "y" * (MOST - len(body) + 1)}))).status == 413


async def test_a_hundred_megabytes_are_refused_at_the_cap(post: Post, folder: Path) -> None:
    """A stream that never says how long it is: no more is taken in than the cap and what was on its way."""
    line = await connect(folder / "s")
    line.writer.write(f"POST {DOOR} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    sent = 0
    with contextlib.suppress(ConnectionError, TimeoutError):
        while sent < 100 * 1024 * 1024:
            line.writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            await asyncio.wait_for(line.writer.drain(), 5)
            sent += 0x10000
    await line.close()
    assert sent < 2 * 1024 * 1024
    await until(lambda: _counted(post) == {"too_large": 1})


async def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path, folder: Path) -> None:
    """Neither one that stops, nor one that drips."""
    async with serving(await sqlite_settings(tmp_path), folder, body_seconds=0.1) as post:
        reply = await _send(folder, _raw(BODY, headers_of(BODY), length=len(BODY) + 1))
        assert reply.status == 408
        line = await connect(folder / "s")
        line.writer.write(_raw(b"", headers_of(BODY), length=len(BODY)))
        dripping = asyncio.create_task(_drip(line))
        assert (await line.reply()).status == 408
        dripping.cancel()
        await line.close()
        assert _counted(post) == {"slow": 2}


async def _drip(line: Line) -> None:
    for byte in BODY:
        line.writer.write(bytes([byte]))
        await asyncio.sleep(0.02)


async def test_who_leaves_before_its_body_is_there_is_counted(post: Post, folder: Path) -> None:
    """And nothing is kept."""
    line = await connect(folder / "s")
    line.writer.write(_raw(BODY, headers_of(BODY), length=len(BODY) + 5))
    await line.writer.drain()
    await line.close()
    await until(lambda: bool(_counted(post)))
    assert _counted(post) == {"wrong": 1}


async def test_too_many_deliveries_are_told_when_to_come_back(tmp_path: Path, folder: Path) -> None:
    """Only by who has proved to be the vendor: strangers get the one answer for them, and take none of its room."""
    few = {"rate": RateSettings(per_minute=6, burst=1)}
    async with serving(await sqlite_settings(tmp_path), folder, settings=few) as post:
        for path in (DOOR, "/v1/events/acme/none"):
            assert [(await _deliver(folder, path=path, headers={})).status for _ in range(3)] == [401] * 3
        assert (await _deliver(folder)).status == 200
        reply = await _deliver(folder)
        assert (reply.status, reply.headers["retry-after"]) == (429, "10")
        assert (await _deliver(folder, headers={})).status == 401
        assert _counted(post) == {"kept": 1, "unknown": 3, "unsigned": 4, "rate": 1}


async def test_while_secrets_cannot_be_had_every_name_is_answered_alike(post: Post, folder: Path) -> None:
    """401: whether anything is down behind it would tell that there is something."""
    post.source.failure = Refusal(Reason.CREDENTIAL_UNAVAILABLE, "It cannot be read now.")
    for path in (DOOR, "/v1/events/acme/none"):
        reply = await _deliver(folder, path=path)
        assert (reply.status, "retry-after" in reply.headers) == (401, False)
    assert _counted(post) == {"unavailable": 1, "unknown": 1}


async def test_while_a_secret_is_slow_to_come_all_is_answered_as_late(post: Post, folder: Path) -> None:
    """For a minute: where it is quick, there would be another connection. One that is proved does not wait."""
    resolve = post.source.resolve

    async def slowly(tenant: str, name: str) -> Secret:
        post.clock.advance(2.0)
        return await resolve(tenant, name)

    post.source.resolve = slowly  # type: ignore[method-assign]
    assert await _taken_by(post, _deliver(folder, headers={})) == (401, pytest.approx(2.0))
    post.source.resolve = resolve  # type: ignore[method-assign]
    assert await _taken_by(post, _deliver(folder, path="/v1/events/acme/none")) == (401, pytest.approx(2.0))
    assert await _taken_by(post, _deliver(folder)) == (200, 0.0)
    post.clock.advance(LATELY_SECONDS)
    assert await _taken_by(post, _deliver(folder, headers={})) == (401, pytest.approx(REFUSED_SECONDS))


async def _taken_by(post: Post, sending: Awaitable[Reply]) -> tuple[int, float]:
    """The status, and after how many seconds it came."""
    began = post.clock.monotonic()
    return (await sending).status, post.clock.monotonic() - began


class CoarseClock(FakeClock):
    """Its timers count milliseconds from when they are set, as those of the loop in production do."""

    async def sleep(self, seconds: float) -> None:
        """Return after the nearest of them; some microseconds pass in any case."""
        self.advance(round(seconds, 3) + 0.00001)
        await asyncio.sleep(0)


async def test_how_long_the_work_took_does_not_show_in_a_refusal(tmp_path: Path, folder: Path) -> None:
    """Not in the fraction of its last millisecond either: twenty refusals would tell two doors apart by it."""
    async with serving(await sqlite_settings(tmp_path), folder, clock=CoarseClock()) as post:
        resolve, after = post.source.resolve, []
        for work_seconds in (0.0, 0.0003, 0.0006, 0.0009, 0.0042):

            async def busy(tenant: str, name: str, seconds: float = work_seconds) -> Secret:
                post.clock.advance(seconds)
                return await resolve(tenant, name)

            post.source.resolve = busy  # type: ignore[method-assign]
            status, seconds = await _taken_by(post, _deliver(folder, headers={}))
            assert status == 401
            after.append(seconds)
        assert max(after) - min(after) < 0.00002


async def test_while_the_store_is_down_nothing_is_answered_well(post: Post, folder: Path) -> None:
    """503; what the vendor then repeats is one event."""
    with locked(post.database.settings.path):
        reply = await _deliver(folder)
    assert (reply.status, reply.body, reply.headers["retry-after"]) == (503, b"", "30")
    assert (await post.kept.head("acme")).number == 0
    assert (await _deliver(folder)).status == 200
    assert (await post.kept.head("acme")).number == 1


async def test_an_answer_that_was_lost_is_made_up_for(post: Post, folder: Path) -> None:
    """The gateway is killed between the store and its answer: the vendor repeats, and there is one event."""
    keep = post.kept.keep

    async def killed(tenant: str, event: Any) -> int:
        await keep(tenant, event)
        raise StoreDown("killed", None)  # type: ignore[arg-type]

    post.kept.keep = killed  # type: ignore[method-assign]
    assert (await _deliver(folder)).status == 503
    post.kept.keep = keep  # type: ignore[method-assign]
    assert (await _deliver(folder)).status == 200
    assert _counted(post) == {"failed": 1, "repeated": 1}
    assert (await post.kept.head("acme")).number == 1


async def test_what_is_no_http_gets_a_short_answer(post: Post, folder: Path) -> None:
    """And is counted."""
    assert (await _send(folder, b"\x16\x03\x01\x02\x00 not http\r\n\r\n")).status == 400
    assert _counted(post) == {"wrong": 1}


async def test_a_socket_that_is_no_good_is_a_problem_of_the_start(post: Post, folder: Path) -> None:
    """In a sentence that names the listener."""
    server = EventServer(post.settings, post.receiver, post.metrics, clock=post.clock, log=post.log)
    with pytest.raises(StartError, match="the events listener cannot listen"):
        await server.start(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    await server.stop()


@pytest.mark.parametrize(("most", "connections"), [(1024, 64), (1024 * 1024, 64), (8 * 1024 * 1024, 8)])
def test_all_bodies_together_fit_into_memory(most: int, connections: int) -> None:
    """The larger one may be, the fewer there are."""
    bounds = bounds_of(EventSettings(address="unix:e", max_body_bytes=most))
    assert bounds.connections == connections
    assert bounds.connections * most <= HELD_BYTES
