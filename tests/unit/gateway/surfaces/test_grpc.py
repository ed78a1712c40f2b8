"""The tool service: a message becomes a call, an answer a message, and the call's id goes ahead when it waits."""

import asyncio
from typing import Any

import grpc
import pytest
from fakes.context import AbortedError, FakeContext, FakeDetails, FixedCaller
from fakes.path import HIDDEN, Road, road

from gateway.admission import Overloaded
from gateway.errors import Reason, Refusal, Unauthenticated
from gateway.metrics.families import TURNED_AWAY, TurnedAway
from gateway.surfaces import grpc as edge
from gateway.surfaces.edge import Edge
from gateway.telemetry import configure
from gateway.v1 import tool_service_pb2 as pb


def service(one: Road, caller: FixedCaller | None = None) -> edge.ToolService:
    """The surface over a road."""
    return edge.ToolService(
        Edge(
            listener="agent",
            authenticator=caller or FixedCaller(),
            admission=one.admission,
            metrics=one.metrics,
            log=configure("error"),
        ),
        one.pipeline,
        lambda: one.catalogue,
    )


# Statuses.


async def test_a_caller_without_proof_is_told_nothing_of_why() -> None:
    """What the authenticator knows goes to the log alone."""
    async with road() as one:
        context = FakeContext()
        with pytest.raises(AbortedError):
            await service(one, FixedCaller(Unauthenticated("the key k7 is unknown"))).call_tool(
                pb.CallToolRequest(), context
            )
        assert context.status is grpc.StatusCode.UNAUTHENTICATED
        assert "k7" not in context.details
        assert one.seen == []


@pytest.mark.parametrize(
    "error", [RuntimeError("secret"), asyncio.CancelledError(), BaseException("panic")], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("method", ["call_tool", "explain_call", "list_tools"])
async def test_g02_whatever_fails_before_there_is_a_call_is_answered(method: str, error: BaseException) -> None:
    """A definite status at once, also for a CancelledError that nobody asked for, and none of its words."""
    async with road() as one:
        context = FakeContext()
        message = {"call_tool": pb.CallToolRequest, "explain_call": pb.ExplainCallRequest}.get(
            method, pb.ListToolsRequest
        )
        with pytest.raises(AbortedError):
            await getattr(service(one, FixedCaller(error)), method)(message(), context)
        assert context.status is grpc.StatusCode.INTERNAL
        assert "secret" not in context.details
        assert one.admission.in_flight == 0


async def test_a_caller_that_was_cancelled_is_not_answered() -> None:
    """A real cancellation goes on: grpc knows what to do with it. The place is given back."""
    async with road() as one:
        gate = asyncio.Event()
        one.limiter_gate = gate.wait
        context = FakeContext()
        request = pb.CallToolRequest(tool="echo", arguments_json=b'{"text":"x"}')
        task = asyncio.create_task(service(one).call_tool(request, context))
        while "limits" not in one.seen:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert context.status is None
        assert one.admission.in_flight == 0
        assert [line["outcome"] for line in one.lines] == ["cancelled"]


@pytest.mark.parametrize("reason", [Reason.JOURNAL_UNAVAILABLE, Reason.AUDIT_UNAVAILABLE])
async def test_when_no_call_can_begin_the_status_is_unavailable(reason: Reason) -> None:
    """With the reason and when to come back in the metadata, and no call id: there was no call."""
    async with road() as one:
        one.hook("begin", _refusing(reason))
        context = FakeContext()
        with pytest.raises(AbortedError):
            await service(one).call_tool(pb.CallToolRequest(tool="echo"), context)
        assert (context.status, context.details) == (grpc.StatusCode.UNAVAILABLE, "Not now.")
        assert dict(context.trailing) == {"retry-after-ms": "5", "tollhouse-reason": reason.value}
        assert context.initial == ()


def _refusing(reason: Reason) -> Any:
    def do() -> None:
        raise Refusal(reason, "Not now.", retry_after_ms=5)

    return do


async def test_a_request_that_cannot_be_read_is_counted() -> None:
    """No message at all, or a name of the caller's own that is too long; it never becomes a call."""
    async with road() as one:
        method = service(one).handler().service(FakeDetails("/gateway.v1.ToolService/CallTool"))
        assert method is not None
        for raw in (b"\xff", pb.CallToolRequest(tool="echo", run_id="r" * 129).SerializeToString()):
            context = FakeContext()
            with pytest.raises(AbortedError):
                await method.unary_unary(method.request_deserializer(raw), context)
            assert context.status is grpc.StatusCode.INVALID_ARGUMENT
        (counts,) = (dict(values) for family, values in one.metrics.read() if family is TURNED_AWAY)
        assert counts[TurnedAway.UNREADABLE.value,] == 2


async def test_a_gateway_that_is_full_says_so() -> None:
    """No place: RESOURCE_EXHAUSTED, nothing was asked."""
    async with road() as one:
        one.hook("begin", _raising(Overloaded()))
        context = FakeContext()
        with pytest.raises(AbortedError):
            await service(one).call_tool(pb.CallToolRequest(tool="echo"), context)
        assert context.status is grpc.StatusCode.RESOURCE_EXHAUSTED


def _raising(error: BaseException) -> Any:
    def do() -> None:
        raise error

    return do


async def test_a_call_that_waits_says_its_id_ahead() -> None:
    """While a step waits the id is in the initial metadata, and it is the id of the answer."""
    async with road() as one:
        gate = asyncio.Event()
        one.limiter_gate = gate.wait
        context = FakeContext()
        request = pb.CallToolRequest(tool="echo", arguments_json=b'{"text":"x"}')
        task = asyncio.create_task(service(one).call_tool(request, context))
        while not context.initial:
            await asyncio.sleep(0)
        assert not task.done()
        gate.set()
        response = pb.CallToolResponse.FromString(await task)
        assert context.initial == ((edge.CALL_ID_KEY, response.call_id),)


async def test_a_caller_that_is_gone_when_the_id_is_sent_does_no_harm() -> None:
    """Metadata that cannot be sent stops nothing: the call has its answer and its line."""

    class Gone(FakeContext):
        async def send_initial_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
            """As when the connection is away."""
            raise RuntimeError("the RPC is over")

    async with road() as one:
        request = pb.CallToolRequest(tool="note", arguments_json=b'{"path":"x"}')
        raw = await service(one).call_tool(request, Gone())
        assert pb.CallToolResponse.FromString(raw).HasField("result")
        assert len(one.lines) == 1


async def test_a_request_arrives_as_it_was_sent() -> None:
    """Every field of the message, and the caller's own deadline."""
    taken = []

    class Calls:
        async def call(self, caller: Any, request: Any, announcement: Any) -> Any:
            taken.append(request)
            raise Refusal(Reason.CALLER_RATE, "Not now.", retry_after_ms=7)

    class Patient(FakeContext):
        def time_remaining(self) -> float | None:
            """The caller's."""
            return 2.5

    async with road() as one:
        one.pipeline = Calls()
        named = {"tool": "t", "arguments_json": b"{}", "idempotency_key": "k", "run_id": "r", "step_id": "s"}
        context, message = Patient(), pb.CallToolRequest(**named, mode="m", yield_after_ms=40)
        with pytest.raises(AbortedError):
            await service(one).call_tool(message, context)
        (request,) = taken
        assert {name: getattr(request, name) for name in named} == named
        assert (request.mode, request.yield_after_ms, request.timeout_seconds) == ("m", 40, 2.5)
        assert context.status is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert dict(context.trailing) == {"retry-after-ms": "7", "tollhouse-reason": "caller_rate"}


async def test_tools_are_listed_in_pages_by_name() -> None:
    """Every tool that the caller sees, once; none that is hidden."""
    async with road() as one:
        names: list[str] = []
        token = ""
        while not names or token:
            raw = await service(one).list_tools(pb.ListToolsRequest(page_size=4, page_token=token), FakeContext())
            page = pb.ListToolsResponse.FromString(raw)
            assert len(page.tools) <= 4
            names += [tool.name for tool in page.tools]
            token = page.next_page_token
        assert names == sorted(set(names))
        assert HIDDEN not in names
        assert "note" in names


async def test_a_page_holds_no_more_than_a_client_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one tool, however large, so that every page goes on."""
    monkeypatch.setattr(edge, "PAGE_BYTES", 1)
    async with road() as one:
        page = pb.ListToolsResponse.FromString(await service(one).list_tools(pb.ListToolsRequest(), FakeContext()))
        assert len(page.tools) == 1
        assert page.next_page_token == page.tools[0].name
