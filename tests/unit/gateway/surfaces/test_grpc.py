"""The edge: what becomes protobuf, what becomes a status, and that somebody always answers."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from fakes.path import Road, road
from fakes.principals import principal

from adapters.base import ArgumentIssue, Binary, Text
from gateway.admission import Overloaded
from gateway.call import Answer, Decision, DecisionEffect, Explanation, Failure, Outcome, Pending, Result, Truncation
from gateway.errors import PolicyReason, Reason, Refusal, Unauthenticated
from gateway.identity.base import AuthStatus, Proof
from gateway.metrics.families import TURNED_AWAY, TurnedAway
from gateway.result import shape
from gateway.surfaces import grpc as edge
from gateway.telemetry import configure
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb


class AbortedError(Exception):
    """As grpc's own: abort never returns."""


class FakeContext:
    """What the edge uses of a servicer's context."""

    def __init__(self, metadata: tuple[tuple[str, str], ...] = (), auth: dict[str, list[bytes]] | None = None) -> None:
        self.metadata = metadata
        self.auth = auth or {}
        self.status: grpc.StatusCode | None = None
        self.details = ""
        self.initial: tuple[tuple[str, str], ...] = ()
        self.trailing: tuple[tuple[str, str], ...] = ()

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """What the caller sent."""
        return self.metadata

    def auth_context(self) -> dict[str, list[bytes]]:
        """What TLS found out."""
        return self.auth

    def peer(self) -> str:
        """Where the caller is."""
        return "unix:"

    def time_remaining(self) -> float | None:
        """The caller set no deadline."""
        return None

    async def send_initial_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
        """Keep it."""
        self.initial = metadata

    def set_trailing_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
        """Keep it."""
        self.trailing = metadata

    async def abort(self, status: grpc.StatusCode, details: str, trailing: tuple[tuple[str, str], ...] = ()) -> None:
        """End the RPC."""
        self.status, self.details, self.trailing = status, details, trailing
        raise AbortedError


@dataclass
class FakeDetails:
    """What names a method."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...] = ()


class FixedCaller:
    """An authenticator that knows everybody, or fails as it is told."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.shown: list[tuple[Any, bytes]] = []

    async def start(self) -> None:
        """Nothing is needed."""

    async def stop(self) -> None:
        """Nothing is held."""

    def status(self) -> AuthStatus:
        """Always ready."""
        return AuthStatus(is_ready=True)

    async def authenticate(self, proof: Proof) -> Any:
        """The usual principal."""
        self.shown.append((proof.metadata, proof.certificate))
        if self.error is not None:
            raise self.error
        return principal()


def service(one: Road, error: BaseException | None = None, caller: FixedCaller | None = None) -> edge.ToolService:
    """The edge over a road."""
    return edge.ToolService(
        listener="agent",
        metrics=one.metrics,
        pipeline=one.pipeline,
        admission=one.admission,
        catalogue=lambda: one.catalogue,
        authenticator=caller or FixedCaller(error),
        log=configure("error"),
    )


def response_of(outcome: Outcome) -> pb.CallToolResponse:
    """What an outcome becomes."""
    return edge._call_response(Answer(call_id="c", effect_id="e", outcome=outcome))


# To protobuf.


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_reaches_the_wire_with_its_code(reason: Reason) -> None:
    """By its own name, both of them."""
    error = response_of(Failure(reason=reason, message="m")).error
    assert f"REASON_{reason.name}" == codes_pb2.Reason.Name(error.reason)
    assert f"CODE_{Failure(reason=reason, message='').code.name}" == codes_pb2.Code.Name(error.code)


def test_a_failure_keeps_all_that_an_agent_can_act_on() -> None:
    """Issues, the author's reasons, when to come back."""
    failure = Failure(
        reason=Reason.ARGUMENTS_INVALID,
        message="m",
        issues=(ArgumentIssue(path="/a", rule="type", message="A number."),),
        policy_reasons=(PolicyReason(code="c", message="m", advice="a"),),
        retry_after_ms=1500,
    )
    error = response_of(failure).error
    assert (error.message, error.retry_after_ms) == ("m", 1500)
    assert [(issue.path, issue.rule, issue.message) for issue in error.issues] == [("/a", "type", "A number.")]
    assert [(one.code, one.message, one.advice) for one in error.policy_reasons] == [("c", "m", "a")]


def test_a_result_keeps_every_part() -> None:
    """Text and binary blocks in order, JSON bytes as they are, labels, redacted paths."""
    result = Result(
        content=(Text(text="t"), Binary(mime_type="image/png", data=b"\x89")),
        structured_json=b'{"a":1}',
        receipt="Done.",
        labels=("untrusted",),
        redacted_paths=("/b",),
    )
    got = response_of(result).result
    assert [block.WhichOneof("block") for block in got.content] == ["text", "binary"]
    assert (got.content[0].text.text, got.content[1].binary.mime_type, got.content[1].binary.data) == (
        "t",
        "image/png",
        b"\x89",
    )
    assert (got.structured_json, got.receipt) == (b'{"a":1}', "Done.")
    assert (list(got.labels), list(got.redacted_paths)) == (["untrusted"], ["/b"])
    assert not got.HasField("truncation")


@pytest.mark.parametrize("limit", edge._LIMITS)
def test_a_truncation_says_what_cut_it(limit: str) -> None:
    """Limit, both sizes, paths, and whether the size is a lower bound."""
    cut = Truncation(limit=limit, original_bytes=9, kept_bytes=3, paths=("/a",), is_at_least=True)
    got = response_of(Result(content=(), structured_json=b"", receipt="", truncation=cut)).result.truncation
    assert pb.TruncationLimit.Name(got.limit) == f"TRUNCATION_LIMIT_{limit.upper()}"
    assert (got.original_bytes, got.kept_bytes, list(got.paths), got.at_least) == (9, 3, ["/a"], True)


def test_every_limit_that_a_result_can_name_is_known() -> None:
    """A limit that the edge does not know would fail a call that was carried out."""
    source = Path(shape.__file__).read_text("utf-8")
    assert {word for word in edge._LIMITS if f'limit="{word}"' in source} == set(edge._LIMITS)
    assert source.count('limit="') == len(edge._LIMITS)


def test_a_pending_call_has_its_approval() -> None:
    """The id, the message, the author's reasons."""
    pending = Pending(approval_id="apr_1", message="m", policy_reasons=(PolicyReason(code="big"),))
    got = response_of(pending).pending
    assert (got.approval_id, got.message, [one.code for one in got.policy_reasons]) == ("apr_1", "m", ["big"])


@pytest.mark.parametrize("effect", DecisionEffect)
def test_an_explanation_has_the_decision(effect: DecisionEffect) -> None:
    """Effect, revision and reasons; no error when the call would run or be parked."""
    decision = Decision(effect=effect, reasons=(PolicyReason(code="c"),), obligations=(), revision="sha256:1")
    got = edge._explain_response(Explanation(call_id="c", decision=decision, failure=None))
    assert pb.Effect.Name(got.effect) == f"EFFECT_{effect.name}"
    assert (got.policy_revision, [one.code for one in got.policy_reasons]) == ("sha256:1", ["c"])
    assert not got.HasField("error")


# Proof.


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
    async with road() as one:
        caller = FixedCaller()
        request = pb.CallToolRequest(tool="echo", arguments_json=b'{"text":"x"}')
        await service(one, caller=caller).call_tool(request, FakeContext(metadata, auth))
        assert caller.shown == [(metadata, certificate)]


# Statuses.


async def test_a_caller_without_proof_is_told_nothing_of_why() -> None:
    """What the authenticator knows goes to the log alone."""
    async with road() as one:
        context = FakeContext()
        with pytest.raises(AbortedError):
            await service(one, Unauthenticated("the key k7 is unknown")).call_tool(pb.CallToolRequest(), context)
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
            await getattr(service(one, error), method)(message(), context)
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
