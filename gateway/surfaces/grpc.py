"""The gRPC edge: protobuf to `Request`, `Answer` to protobuf, and the few statuses that mean "no call".

No decision is taken here. The rest of the gateway knows neither protobuf nor status codes.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NoReturn, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from adapters.base import Text
from gateway.admission import Admission, Overloaded
from gateway.call import Answer, Explanation, Failure, Pending, Principal, Request, Result, Surface, Truncation
from gateway.errors import Code, PolicyReason, Reason, Refusal, Unauthenticated
from gateway.identity.base import Authenticator, Metadata
from gateway.invocation import is_cancelled
from gateway.metrics.counts import Metrics
from gateway.metrics.families import TurnedAway
from gateway.pipeline import Calls
from gateway.registry.catalogue import Catalogue
from gateway.rows import Tool
from gateway.telemetry import Log
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

SERVICE = "gateway.v1.ToolService"
CALL_ID_KEY = "tollhouse-call-id"
PAGE_SIZE = 200
PAGE_BYTES = 2 * 1024 * 1024
"""What a page of tools may hold of text and schemas: a client takes no message beyond 4 MiB unless it is told to."""

Context = grpc.aio.ServicerContext[Any, Any]
M = TypeVar("M", bound=Message)

CODES: dict[Code, Any] = {code: codes_pb2.Code.Value(f"CODE_{code.name}") for code in Code}
REASONS: dict[Reason, Any] = {reason: codes_pb2.Reason.Value(f"REASON_{reason.name}") for reason in Reason}
_EFFECTS = {
    "allow": pb.EFFECT_ALLOW,
    "deny": pb.EFFECT_DENY,
    "require_approval": pb.EFFECT_REQUIRE_APPROVAL,
}
_LIMITS = {
    "result_bytes": pb.TRUNCATION_LIMIT_RESULT_BYTES,
    "vendor_bytes": pb.TRUNCATION_LIMIT_VENDOR_BYTES,
}
_MOST_CHARACTERS = {"run_id": 128, "step_id": 128, "mode": 64}
"""What policy and the audit line are given of a caller's own names: all of it, so it cannot be of any length."""
_STATUS_OF_REFUSAL = {Reason.CALLER_RATE: grpc.StatusCode.RESOURCE_EXHAUSTED}


class Unreadable:
    """Stands for a request whose bytes are not the message that they should be."""


class ToolService:
    """ToolService of one listener: its callers are who its authenticator says."""

    def __init__(  # noqa: PLR0913 - its parts, each named at the call
        self,
        *,
        listener: str,
        pipeline: Calls,
        admission: Admission,
        catalogue: Callable[[], Catalogue],
        authenticator: Authenticator,
        metrics: Metrics,
        log: Log,
    ) -> None:
        self._listener = listener
        self._metrics = metrics
        self._pipeline = pipeline
        self._admission = admission
        self._catalogue = catalogue
        self._authenticator = authenticator
        self._log = log

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs of the service, to be added to a server."""
        methods = {
            "ListTools": _unary(self.list_tools, pb.ListToolsRequest, self._unreadable),
            "CallTool": _unary(self.call_tool, pb.CallToolRequest, self._unreadable),
            "ExplainCall": _unary(self.explain_call, pb.ExplainCallRequest, self._unreadable),
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    async def call_tool(self, message: Any, context: Context) -> bytes:
        """CallTool."""
        request, metadata = _request(message, context), _Metadata(context)

        async def work(caller: Principal) -> bytes:
            return _call_response(await self._pipeline.call(caller, request, metadata)).SerializeToString()

        return await self._guarded(context, work, metadata)

    async def explain_call(self, message: Any, context: Context) -> bytes:
        """ExplainCall."""
        request, metadata = _request(message, context), _Metadata(context)

        async def work(caller: Principal) -> bytes:
            return _explain_response(await self._pipeline.explain(caller, request, metadata)).SerializeToString()

        return await self._guarded(context, work, metadata)

    async def list_tools(self, message: Any, context: Context) -> bytes:
        """ListTools: a page of the caller's own tools, by name."""

        async def work(caller: Principal) -> bytes:
            return (await self._page(caller, message)).SerializeToString()

        return await self._guarded(context, work, _Metadata(context))

    async def _page(self, principal: Principal, message: Any) -> pb.ListToolsResponse:
        await self._admission.admit(principal)
        tools = self._catalogue().visible(principal, Surface.GRPC)
        after, size = message.page_token, min(message.page_size or PAGE_SIZE, PAGE_SIZE)
        rest = [tool for tool in tools if tool.name > after] if after else tools
        shown = rest[: _fitting(rest[:size])]
        response = pb.ListToolsResponse(next_page_token=shown[-1].name if len(rest) > len(shown) else "")
        for tool in shown:
            response.tools.add(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema_json=tool.input_schema_json,
                output_schema_json=tool.output_schema_json,
            )
        return response

    async def _guarded(
        self, context: Context, work: Callable[[Principal], Awaitable[bytes]], metadata: "_Metadata"
    ) -> bytes:
        """The work's answer for a caller who is known and for whom there is room."""
        try:
            principal = await self._authenticator.authenticate(_Proof(context))
            with self._admission.room:
                answer = await work(principal)
            await metadata.settled()
            return answer  # noqa: TRY300 - it is the end of the work, not what follows an error
        except Unauthenticated as error:
            self._metrics.unauthenticated(self._listener)
            self._log.limited("unauthenticated", why=str(error), peer=context.peer())
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "show who you are: no valid proof of identity")
        except Overloaded:
            self._metrics.turned_away(TurnedAway.OVERLOADED)
            self._log.limited("overloaded")
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "the gateway is overloaded; ask again later")
        except Refusal as refusal:
            self._metrics.turned_away(refusal.reason)
            await self._refuse(context, refusal)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # an answer is owed at once, whatever went wrong (also a panic)
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            self._log.failure("surface_failed", error)
            await metadata.settled()
            await context.abort(grpc.StatusCode.INTERNAL, "the gateway failed at this request")
        raise AssertionError("abort does not return")

    def _unreadable(self) -> None:
        self._metrics.turned_away(TurnedAway.UNREADABLE)

    @staticmethod
    async def _refuse(context: Context, refusal: Refusal) -> NoReturn:
        """There was no call: the status says so, and when to come back."""
        status = _STATUS_OF_REFUSAL.get(refusal.reason, grpc.StatusCode.UNAVAILABLE)
        trailing = (("retry-after-ms", str(refusal.retry_after_ms)), ("tollhouse-reason", refusal.reason.value))
        await context.abort(status, refusal.message, trailing)
        raise AssertionError("abort does not return")


def _unary(
    method: Callable[[Any, Context], Awaitable[bytes]], message: type[M], on_unreadable: Callable[[], None]
) -> "grpc.RpcMethodHandler[Any, Any]":
    bounds = [(field, most) for field, most in _MOST_CHARACTERS.items() if field in message.DESCRIPTOR.fields_by_name]

    async def checked(request: Any, context: Context) -> bytes:
        if request is Unreadable:
            on_unreadable()
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"this is not a {message.DESCRIPTOR.full_name}")
        for field, most in bounds:
            if len(getattr(request, field)) > most:
                on_unreadable()
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{field} may have at most {most} characters")
        return await method(request, context)

    def read(raw: bytes) -> M | type[Unreadable]:
        try:
            return message.FromString(raw)
        except DecodeError:
            return Unreadable

    return grpc.unary_unary_rpc_method_handler(checked, request_deserializer=read)


class _Proof:
    """`Proof` in gRPC. Each is got when it is asked for: TLS writes the certificate out anew every time."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def metadata(self) -> Metadata:
        return tuple(self._context.invocation_metadata() or ())

    @property
    def certificate(self) -> bytes:
        # gRPC asks a client for a certificate only where it then verifies it.
        return next(iter(self._context.auth_context().get("x509_pem_cert", ())), b"")


class _Metadata:
    """`Announcement` in gRPC: the id leaves in the initial metadata if the call waits. Metadata that leaves
    by itself costs as much as a fifth of a call; one that is answered in one go has the id in its answer.
    """

    __slots__ = ("_context", "_id", "_planned", "_sending")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._planned: asyncio.Handle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._id = ""

    def begin(self, call_id: str) -> None:
        """The loop turns only when the call waits, so that is when the id goes out."""
        self._id = call_id
        self._planned = asyncio.get_running_loop().call_soon(self._send)

    def end(self) -> None:
        """Not any more, if it was not sent yet."""
        if self._planned is not None:
            self._planned.cancel()

    async def settled(self) -> None:
        """Nothing is being sent any more, so that the answer may follow."""
        self.end()
        if self._sending is not None and not self._sending.done():
            await asyncio.wait((self._sending,))

    def _send(self) -> None:
        self._sending = asyncio.ensure_future(self._sent())

    async def _sent(self) -> None:
        # A caller that is gone cannot be told, and need not be.
        with contextlib.suppress(Exception):
            await self._context.send_initial_metadata(((CALL_ID_KEY, self._id),))


def _fitting(tools: Sequence[Tool]) -> int:
    """How many of these tools fit into one page: at least one, so that every page goes on."""
    room = PAGE_BYTES
    for count, tool in enumerate(tools):
        room -= 4 * (len(tool.title) + len(tool.description))
        room -= len(tool.input_schema_json) + len(tool.output_schema_json)
        if room < 0:
            return max(count, 1)
    return len(tools)


def _request(message: Any, context: Context) -> Request:
    return Request(
        tool=message.tool,
        arguments_json=message.arguments_json,
        idempotency_key=message.idempotency_key,
        run_id=message.run_id,
        step_id=message.step_id,
        mode=message.mode,
        surface=Surface.GRPC,
        timeout_seconds=context.time_remaining(),
    )


def _call_response(answer: Answer) -> pb.CallToolResponse:
    response = pb.CallToolResponse(call_id=answer.call_id, effect_id=answer.effect_id, replay=answer.is_replay)
    outcome = answer.outcome
    if isinstance(outcome, Result):
        _fill_result(response.result, outcome)
    elif isinstance(outcome, Failure):
        _fill_error(response.error, outcome)
    else:
        _fill_pending(response.pending, outcome)
    return response


def _fill_result(target: pb.ToolResult, result: Result) -> None:
    target.structured_json = result.structured_json
    target.receipt = result.receipt
    if result.labels:
        target.labels.extend(result.labels)
    if result.redacted_paths:
        target.redacted_paths.extend(result.redacted_paths)
    for block in result.content:
        if isinstance(block, Text):
            target.content.add().text.text = block.text
        else:
            target.content.add(binary=pb.BinaryBlock(mime_type=block.mime_type, data=block.data))
    if result.truncation is not None:
        target.truncation.CopyFrom(_truncation(result.truncation))


def _truncation(cut: Truncation) -> pb.Truncation:
    return pb.Truncation(
        limit=_LIMITS[cut.limit],
        original_bytes=cut.original_bytes,
        kept_bytes=cut.kept_bytes,
        paths=cut.paths,
        at_least=cut.is_at_least,
    )


def _fill_error(target: pb.ToolError, failure: Failure) -> None:
    target.code = CODES[failure.code]
    target.reason = REASONS[failure.reason]
    target.message = failure.message
    target.retry_after_ms = failure.retry_after_ms
    for issue in failure.issues:
        target.issues.add(path=issue.path, rule=issue.rule, message=issue.message)
    _add_reasons(target.policy_reasons, failure.policy_reasons)


def _fill_pending(target: pb.PendingCall, pending: Pending) -> None:
    target.approval_id = pending.approval_id
    target.message = pending.message
    _add_reasons(target.policy_reasons, pending.policy_reasons)


def _add_reasons(target: Any, reasons: tuple[PolicyReason, ...]) -> None:
    for reason in reasons:
        target.add(code=reason.code, message=reason.message, advice=reason.advice)


def _explain_response(explanation: Explanation) -> pb.ExplainCallResponse:
    response = pb.ExplainCallResponse(call_id=explanation.call_id)
    if explanation.decision is not None:
        response.effect = _EFFECTS[explanation.decision.effect.value]
        response.policy_revision = explanation.decision.revision
        _add_reasons(response.policy_reasons, explanation.decision.reasons)
    if explanation.failure is not None:
        _fill_error(response.error, explanation.failure)
    return response
