"""What every gRPC surface does before and after its own work: who calls, is there room, and which status is owed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
import pytest
from fakes.clock import FakeClock
from fakes.context import AbortedError, FakeContext, FixedCaller
from fakes.limiter import FakeLimiter
from fakes.principals import principal

from gateway.admission import Admission, Overloaded
from gateway.call import Principal
from gateway.errors import Reason, Refusal, Refused, RefusedKind, Unauthenticated
from gateway.metrics.counts import Metrics
from gateway.metrics.families import TURNED_AWAY, UNAUTHENTICATED, TurnedAway
from gateway.rows import Rate
from gateway.surfaces.edge import Edge, streaming, unary
from gateway.telemetry import configure
from gateway.v1 import tool_service_pb2 as pb

STATUS_OF_KIND = {
    RefusedKind.INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    RefusedKind.NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    RefusedKind.FORBIDDEN: grpc.StatusCode.PERMISSION_DENIED,
    RefusedKind.CONFLICT: grpc.StatusCode.ABORTED,
    RefusedKind.PRECONDITION: grpc.StatusCode.FAILED_PRECONDITION,
    RefusedKind.UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
}
BROKEN = [RuntimeError("secret"), asyncio.CancelledError("secret"), BaseException("secret")]


def edge_of(error: BaseException | None = None, *, max_in_flight: int = 10) -> Edge:
    """An edge whose authenticator lets everybody in, or fails as it is told."""
    take = FakeLimiter(FakeClock().monotonic).take
    return Edge(
        listener="agent",
        authenticator=FixedCaller(error),
        admission=Admission(take=take, rate=Rate(per_minute=60, burst=10), max_in_flight=max_in_flight),
        metrics=Metrics(listeners=["agent"]),
        log=configure("error"),
    )


def count_of(edge: Edge, family: object, *labels: str) -> float:
    """A counter's value."""
    (counts,) = (dict(values) for found, values in edge.metrics.read() if found is family)
    return cast(float, counts[labels])


class Work:
    """Answers, or raises what it is told; as a stream it does so after one message."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.callers: list[Principal] = []

    async def once(self, caller: Principal) -> bytes:
        """One answer."""
        self.callers.append(caller)
        if self.error is not None:
            raise self.error
        return b"done"

    async def many(self, caller: Principal) -> AsyncIterator[pb.ListToolsRequest]:
        """Two messages, or one and the error."""
        self.callers.append(caller)
        yield pb.ListToolsRequest(page_size=1)
        if self.error is not None:
            raise self.error
        yield pb.ListToolsRequest(page_size=2)


async def _drained(stream: AsyncIterator[bytes], parts: list[bytes]) -> None:
    """Every part, until the stream ends or fails."""
    async for part in stream:
        parts.append(part)  # noqa: PERF401 - those before the failure count


async def aborted(edge: Edge, work: Work, *, is_stream: bool = False) -> FakeContext:
    """The context of an RPC that ended with a status."""
    context: Any = FakeContext()
    with pytest.raises(AbortedError):
        await (_drained(edge.streamed(context, work.many), []) if is_stream else edge.guarded(context, work.once))
    assert edge.admission.in_flight == 0
    return cast(FakeContext, context)


# Who calls.


async def test_the_work_is_done_for_whom_the_authenticator_names() -> None:
    """And its answer is the RPC's."""
    work = Work()
    assert await edge_of().guarded(cast(Any, FakeContext()), work.once) == b"done"
    assert work.callers == [principal()]


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_caller_without_proof_is_told_nothing_of_why(is_stream: bool) -> None:
    """What the authenticator knows goes to the log alone; no work is begun; it is counted by listener."""
    edge, work = edge_of(Unauthenticated("the key k7 is unknown")), Work()
    context = await aborted(edge, work, is_stream=is_stream)
    assert context.status is grpc.StatusCode.UNAUTHENTICATED
    assert "k7" not in context.details
    assert work.callers == []
    assert count_of(edge, UNAUTHENTICATED, "agent") == 1


@pytest.mark.parametrize(
    ("auth", "certificate"),
    [
        ({}, b""),
        ({"transport_security_type": [b"ssl"]}, b""),
        ({"x509_pem_cert": []}, b""),
        ({"transport_security_type": [b"ssl"], "x509_pem_cert": [b"leaf"], "x509_pem_cert_chain": [b"chain"]}, b"leaf"),
    ],
)
async def test_an_authenticator_gets_what_came_with_the_request(
    auth: dict[str, list[bytes]], certificate: bytes
) -> None:
    """The metadata as it came, and the certificate that TLS has verified; nothing where there is none."""
    metadata = (("authorization", "Bearer x"), ("authorization", "Bearer y"))
    edge = edge_of()
    await edge.guarded(cast(Any, FakeContext(metadata, auth)), Work().once)
    assert cast(FixedCaller, edge.authenticator).shown == [(metadata, certificate)]


# Is there room.


async def test_a_gateway_that_is_full_does_no_work() -> None:
    """RESOURCE_EXHAUSTED, and it is counted."""
    edge, work = edge_of(max_in_flight=1), Work()
    with edge.admission.room:
        context: Any = FakeContext()
        with pytest.raises(AbortedError):
            await edge.guarded(context, work.once)
    assert context.status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert work.callers == []
    assert count_of(edge, TURNED_AWAY, TurnedAway.OVERLOADED.value) == 1


async def test_a_stream_holds_no_place() -> None:
    """It may be open for days; requests have the room."""
    edge = edge_of(max_in_flight=1)
    stream = edge.streamed(cast(Any, FakeContext()), Work().many)
    await anext(stream)
    assert edge.admission.in_flight == 0
    assert await edge.guarded(cast(Any, FakeContext()), Work().once) == b"done"
    await cast(Any, stream).aclose()


# Which status.


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("kind", RefusedKind)
async def test_a_refused_request_has_the_status_of_its_kind(kind: RefusedKind, is_stream: bool) -> None:
    """With the sentence, and the kind for programs in the trailing metadata."""
    context = await aborted(edge_of(), Work(Refused(kind, "Look again.")), is_stream=is_stream)
    assert (context.status, context.details) == (STATUS_OF_KIND[kind], "Look again.")
    assert context.trailing == (("tollhouse-reason", kind.value),)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Reason.CALLER_RATE, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (Reason.JOURNAL_UNAVAILABLE, grpc.StatusCode.UNAVAILABLE),
        (Reason.AUDIT_UNAVAILABLE, grpc.StatusCode.UNAVAILABLE),
    ],
)
async def test_where_there_was_no_call_the_status_says_when_to_come_back(
    reason: Reason, status: grpc.StatusCode
) -> None:
    """And why; it is counted."""
    edge = edge_of()
    context = await aborted(edge, Work(Refusal(reason, "Not now.", retry_after_ms=5)))
    assert (context.status, context.details) == (status, "Not now.")
    assert dict(context.trailing) == {"retry-after-ms": "5", "tollhouse-reason": reason.value}
    assert count_of(edge, TURNED_AWAY, reason.value) == 1


async def test_work_that_finds_the_gateway_full_says_so() -> None:
    """The same as when there is no place to begin with."""
    context = await aborted(edge_of(), Work(Overloaded()))
    assert context.status is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("where", ["authenticator", "work"])
async def test_g02_whatever_fails_is_answered(where: str, is_stream: bool, error: BaseException) -> None:
    """A definite status at once, also for a CancelledError that nobody asked for, and none of its words."""
    edge = edge_of(error if where == "authenticator" else None)
    context = await aborted(edge, Work(error if where == "work" else None), is_stream=is_stream)
    assert (context.status, context.details) == (grpc.StatusCode.INTERNAL, "the gateway failed at this request")


async def test_a_status_that_the_work_gave_itself_is_left_alone() -> None:
    """An abort is no failure of ours."""
    with pytest.raises(grpc.aio.AbortError):
        await edge_of().guarded(cast(Any, FakeContext()), Work(grpc.aio.AbortError()).once)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_what_ends_the_process_goes_on(error: type[BaseException]) -> None:
    """No status is made of it."""
    edge, context = edge_of(), FakeContext()
    with pytest.raises(error):
        await edge.guarded(cast(Any, context), Work(error()).once)
    with pytest.raises(error):
        await _drained(edge.streamed(cast(Any, context), Work(error()).many), [])
    assert context.status is None


class StuckWork(Work):
    """Never done."""

    async def once(self, caller: Principal) -> bytes:
        """Wait."""
        self.callers.append(caller)
        await asyncio.Event().wait()
        return b""

    async def many(self, caller: Principal) -> AsyncIterator[pb.ListToolsRequest]:
        """Wait."""
        yield pb.ListToolsRequest(page_size=len(await self.once(caller)))


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_caller_that_was_cancelled_is_not_answered(is_stream: bool) -> None:
    """A real cancellation goes on: grpc knows what to do with it. The place is given back."""
    edge, work, context = edge_of(), StuckWork(), FakeContext()

    async def rpc() -> None:
        if is_stream:
            await _drained(edge.streamed(cast(Any, context), work.many), [])
        else:
            await edge.guarded(cast(Any, context), work.once)

    task = asyncio.create_task(rpc())
    while not work.callers:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (context.status, edge.admission.in_flight) == (None, 0)


async def test_nothing_leaves_before_what_was_begun_is_settled() -> None:
    """Before an answer, and before the status of a failure."""
    settled = []

    async def settle() -> None:
        settled.append(True)

    await edge_of().guarded(cast(Any, FakeContext()), Work().once, settle)
    with pytest.raises(AbortedError):
        await edge_of().guarded(cast(Any, FakeContext()), Work(RuntimeError()).once, settle)
    assert settled == [True, True]


# Messages.


async def _echo(request: Any, _: Any) -> bytes:
    return cast(bytes, request.SerializeToString())


async def _echo_twice(request: Any, _: Any) -> AsyncIterator[bytes]:
    yield request.SerializeToString()
    yield request.SerializeToString()


def handler_of(kind: str, unread: list[bool]) -> Any:
    """A handler whose `page_token` may have three characters."""
    most = {"page_token": 3, "tool": 1}
    if kind == "unary":
        return unary(_echo, pb.ListToolsRequest, lambda: unread.append(True), most_characters=most)
    return streaming(_echo_twice, pb.ListToolsRequest, lambda: unread.append(True), most_characters=most)


async def answers_of(handler: Any, raw: bytes, context: FakeContext) -> list[bytes]:
    """What it answers to these bytes."""
    request = handler.request_deserializer(raw)
    if handler.response_streaming:
        return [part async for part in handler.unary_stream(request, context)]
    return [await handler.unary_unary(request, context)]


@pytest.mark.parametrize(("kind", "count"), [("unary", 1), ("streaming", 2)])
async def test_a_message_that_can_be_read_reaches_the_method(kind: str, count: int) -> None:
    """A bound on a field that the message does not have means nothing; one that is just met passes."""
    unread: list[bool] = []
    raw = pb.ListToolsRequest(page_token="äöü").SerializeToString()
    assert await answers_of(handler_of(kind, unread), raw, FakeContext()) == [raw] * count
    assert unread == []


@pytest.mark.parametrize("kind", ["unary", "streaming"])
@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"\xff", "this is not a gateway.v1.ListToolsRequest"),
        (pb.ListToolsRequest(page_token="abcd").SerializeToString(), "page_token may have at most 3 characters"),
        (pb.ListToolsRequest(page_token="a\0").SerializeToString(), "page_token may hold no NUL"),
    ],
)
async def test_a_message_that_is_none_is_an_invalid_argument(kind: str, raw: bytes, told: str) -> None:
    """Or a text of it that is too long, or with a NUL: it says which, it is counted, and the method does not run."""
    unread: list[bool] = []
    context = FakeContext()
    with pytest.raises(AbortedError):
        await answers_of(handler_of(kind, unread), raw, context)
    assert (context.status, context.details) == (grpc.StatusCode.INVALID_ARGUMENT, told)
    assert unread == [True]


async def test_what_cannot_be_read_is_counted() -> None:
    """By the edge, for every surface over it."""
    edge = edge_of()
    edge.unreadable()
    assert count_of(edge, TURNED_AWAY, TurnedAway.UNREADABLE.value) == 1


# Over a real connection.


@contextlib.asynccontextmanager
async def served(edge: Edge, work: Work, where: str) -> AsyncIterator[grpc.aio.Channel]:
    """Two RPCs over this work: `/t/One` and `/t/Many`."""

    async def one(_: Any, context: Any) -> bytes:
        return await edge.guarded(context, work.once)

    def many(_: Any, context: Any) -> AsyncIterator[bytes]:
        return edge.streamed(context, work.many)

    methods = {
        "One": unary(one, pb.ListToolsRequest, edge.unreadable, most_characters={}),
        "Many": streaming(many, pb.ListToolsRequest, edge.unreadable, most_characters={}),
    }
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", methods),))
    server.add_insecure_port(where)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(where) as channel:
            yield channel
    finally:
        await server.stop(None)


@pytest.mark.parametrize("kind", RefusedKind)
async def test_status_and_kind_reach_the_caller(tmp_path: Path, kind: RefusedKind) -> None:
    """Of one answer and of a stream, which has given its first part by then."""
    async with served(edge_of(), Work(Refused(kind, "Look again.")), f"unix:{tmp_path / 's'}") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/t/One")(b"")
        parts: list[bytes] = []
        with pytest.raises(grpc.aio.AioRpcError) as streamed:
            await _drained(channel.unary_stream("/t/Many")(b""), parts)
    for error in (caught.value, streamed.value):
        assert (error.code(), error.details()) == (STATUS_OF_KIND[kind], "Look again.")
        assert ("tollhouse-reason", kind.value) in tuple(error.trailing_metadata())
    assert parts == [pb.ListToolsRequest(page_size=1).SerializeToString()]


async def test_a_stream_ends_when_its_work_does(tmp_path: Path) -> None:
    """Every part, in order, and an OK."""
    async with served(edge_of(), Work(), f"unix:{tmp_path / 's'}") as channel:
        stream = channel.unary_stream("/t/Many")(b"")
        sizes = [pb.ListToolsRequest.FromString(part).page_size async for part in stream]
        assert sizes == [1, 2]
        assert await stream.code() is grpc.StatusCode.OK
