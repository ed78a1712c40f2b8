"""WatchEvents over a socket."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.clock import START
from fakes.events import Post, post_over
from fakes.limiter import FakeLimiter
from fakes.principals import FakeAuthenticator, principal
from fakes.scrapes import until
from real.stores import sqlite_settings

from gateway.admission import Admission
from gateway.call import Principal
from gateway.metrics.events import EVENTS_SENT
from gateway.rows import Rate
from gateway.settings.events import EventSettings
from gateway.surfaces.edge import Edge
from gateway.surfaces.watching_events import WatchingEvents
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub

OLDEST = pb.WatchEventsRequest(from_oldest=True)


@pytest.fixture
async def post(tmp_path: Path) -> AsyncIterator[Post]:
    """A store of events."""
    async with post_over(
        await sqlite_settings(tmp_path), settings=EventSettings(address="unix:e", most_watchers=2)
    ) as one:
        yield one


class Asker:
    """Somebody who watches."""

    def __init__(self, stub: Any, who: str, authenticator: FakeAuthenticator) -> None:
        self._stub, self._who, self.authenticator = stub, who, authenticator

    def watch(self, request: pb.WatchEventsRequest | None = None) -> Any:
        """A stream."""
        return self._stub.WatchEvents(request or pb.WatchEventsRequest(), metadata=(("who", self._who),))


@asynccontextmanager
async def serving(post: Post, caller: Principal | None = None, *, burst: int = 100) -> AsyncIterator[Asker]:
    """Whoever asks is this caller."""
    caller = caller or principal()
    authenticator = FakeAuthenticator(caller)
    edge = Edge(
        listener="agent",
        authenticator=authenticator,
        admission=Admission(take=FakeLimiter().take, rate=Rate(per_minute=60, burst=burst), max_in_flight=1),
        metrics=post.metrics,
        log=post.log,
    )
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((WatchingEvents(edge, post.watching, post.metrics.event_sent).handler(),))
    with tempfile.TemporaryDirectory(prefix="w") as folder:
        server.add_insecure_port(f"unix:{folder}/s")
        await server.start()
        try:
            async with grpc.aio.insecure_channel(f"unix:{folder}/s") as channel:
                yield Asker(ToolServiceStub(channel), caller.id, authenticator)
        finally:
            post.watching.drain()
            await server.stop(2)


async def _status(stream: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stream.read()
    assert "Traceback" not in str(caught.value.details())
    return caught.value.code()


async def test_an_event_is_told_whole(post: Post) -> None:
    """With its moments, its labels and a cursor; and it is counted."""
    await post.keep(occurred_at=START + 0.25)
    async with serving(post) as asker:
        seen = await asker.watch(OLDEST).read()
        event = seen.event
        assert (event.id, event.connection, event.vendor, event.kind) == ("v1", "tracker", "tracker", "issue.opened")
        assert (event.subject, event.data_json) == ("acme/shop#12", b'{"title":"It is broken"}')
        assert list(event.labels) == ["untrusted", "private"]
        assert (event.occurred_at.ToNanoseconds(), event.received_at.seconds) == (
            (int(START) * 4 + 1) * 250_000_000,
            START,
        )
        assert seen.cursor
        assert not seen.missed
        await until(lambda: list(dict(post.metrics.read())[EVENTS_SENT]) == [((), 1)])


async def test_without_a_time_there_is_none(post: Post) -> None:
    """Which is not the year 1970."""
    await post.keep(occurred_at=None)
    async with serving(post) as asker:
        seen = await asker.watch(OLDEST).read()
        assert not seen.event.HasField("occurred_at")


async def test_a_stream_goes_on_from_its_cursor(post: Post) -> None:
    """A sign of life has one too, and no event."""
    async with serving(post) as asker:
        stream = asker.watch()
        first = await stream.read()
        assert not first.HasField("event")
        stream.cancel()
        await post.keep()
        seen = await asker.watch(pb.WatchEventsRequest(after=first.cursor)).read()
        assert seen.event.id == "v1"


@pytest.mark.parametrize(
    "wrong",
    [
        pb.WatchEventsRequest(after="garbage"),
        pb.WatchEventsRequest(after="x" * 2049),
        pb.WatchEventsRequest(kinds=["not a kind"]),
        pb.WatchEventsRequest(connections=["../etc"]),
    ],
)
async def test_what_cannot_be_is_invalid(post: Post, wrong: pb.WatchEventsRequest) -> None:
    """In a sentence."""
    async with serving(post) as asker:
        assert await _status(asker.watch(wrong)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_cursor_of_another_agent_is_invalid(post: Post) -> None:
    """Though its tenant is the same."""
    async with serving(post) as asker:
        cursor = (await asker.watch().read()).cursor
        async with serving(post, principal(id="other-1", agent="other")) as other:
            assert await _status(other.watch(pb.WatchEventsRequest(after=cursor))) is grpc.StatusCode.INVALID_ARGUMENT


async def test_watching_counts_as_a_request(post: Post) -> None:
    """And only so many streams are open at once."""
    async with serving(post, burst=3) as asker:
        streams = [asker.watch() for _ in range(2)]
        for stream in streams:
            await stream.read()
        assert await _status(asker.watch()) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await _status(asker.watch()) is grpc.StatusCode.RESOURCE_EXHAUSTED
        for stream in streams:
            stream.cancel()
        await until(lambda: post.watching.open == 0)
        assert await _status(asker.watch()) is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_who_proves_nothing_watches_nothing(post: Post) -> None:
    """As everywhere."""
    async with serving(post) as asker:
        asker._who = "stranger"
        assert await _status(asker.watch()) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_stream_does_not_outlive_its_proof(post: Post) -> None:
    """A token that expires, a key that is taken away: the next event is not told."""
    async with serving(post) as asker:
        stream = asker.watch()
        await stream.read()
        asker.authenticator.is_ready = False
        await post.keep()
        assert await _status(stream) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_stream_is_one_callers(post: Post) -> None:
    """Not whoever's the proof is later."""
    async with serving(post) as asker:
        stream = asker.watch()
        await stream.read()
        asker.authenticator.principal = replace(asker.authenticator.principal, agent="other")
        await post.keep()
        assert await _status(stream) is grpc.StatusCode.UNAUTHENTICATED


async def test_the_end_of_the_gateway_ends_the_stream(post: Post) -> None:
    """With a status that says to ask again."""
    async with serving(post) as asker:
        stream = asker.watch()
        await stream.read()
        post.watching.drain()
        assert await _status(stream) is grpc.StatusCode.UNAVAILABLE


async def test_a_consumer_that_is_slow_holds_no_memory(post: Post) -> None:
    """What it does not take stays in the store: a few events are read for it, however many there are."""
    data = b'{"x":"' + b"y" * 200_000 + b'"}'
    await asyncio.gather(*(post.keep(f"v{number}", data_json=data) for number in range(60)))
    read: list[int] = []
    whole = post.kept.read

    async def counted(tenant: str, numbers: Any) -> Any:
        read.append(len(numbers))
        return await whole(tenant, numbers)

    post.kept.read = counted  # type: ignore[method-assign]
    async with serving(post) as asker:
        stream = asker.watch(OLDEST)
        await stream.read()
        await asyncio.sleep(0.3)  # nothing tells when nothing more happens
        assert sum(read) < 60
        for number in range(1, 60):
            assert (await stream.read()).event.id == f"v{number}"
