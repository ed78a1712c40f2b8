"""The gRPC edge: protobuf to `Request`, `Answer` to protobuf, and the few statuses that mean "no call".

No decision is taken here. The rest of the gateway knows neither protobuf nor status codes.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import grpc
from google.protobuf.message import Message

from gateway.audit.trail import Trail
from gateway.call import Principal, Request, Surface
from gateway.parts import Calls
from gateway.registry.catalogue import Catalogue
from gateway.rows import Tool
from gateway.surfaces.edge import Context, Edge, unary
from gateway.surfaces.messages import call_response, explain_response
from gateway.v1 import tool_service_pb2 as pb

SERVICE = "gateway.v1.ToolService"
CALL_ID_KEY = "tollhouse-call-id"
PAGE_SIZE = 200
PAGE_BYTES = 2 * 1024 * 1024
"""What a page of tools may hold of text and schemas: a client takes no message beyond 4 MiB unless it is told to."""

_MOST_CHARACTERS = {"run_id": 128, "step_id": 128, "mode": 64}
"""What policy and the audit line are given of a caller's own names: all of it, so it cannot be of any length."""


class ToolService:
    """ToolService of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, pipeline: Calls, catalogue: Callable[[], Catalogue]) -> None:
        self._edge = edge
        self._pipeline = pipeline
        self._catalogue = catalogue

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs of the service, to be added to a server."""
        methods = {
            "ListTools": self._unary(self.list_tools, pb.ListToolsRequest),
            "CallTool": self._unary(self.call_tool, pb.CallToolRequest),
            "ExplainCall": self._unary(self.explain_call, pb.ExplainCallRequest),
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    def _unary(
        self, method: Callable[[Any, Context], Awaitable[bytes]], message: type[Message]
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        return unary(method, message, self._edge.unreadable, most_characters=_MOST_CHARACTERS)

    async def call_tool(self, message: Any, context: Context) -> bytes:
        """CallTool."""
        request, metadata = _request(message, context), _Metadata(context)

        async def work(caller: Principal) -> bytes:
            return call_response(await self._pipeline.call(caller, request, metadata)).SerializeToString()

        return await self._edge.guarded(context, work, metadata.settled)

    async def explain_call(self, message: Any, context: Context) -> bytes:
        """ExplainCall."""
        request, metadata = _request(message, context), _Metadata(context)

        async def work(caller: Principal) -> bytes:
            return explain_response(await self._pipeline.explain(caller, request, metadata)).SerializeToString()

        return await self._edge.guarded(context, work, metadata.settled)

    async def list_tools(self, message: Any, context: Context) -> bytes:
        """ListTools: a page of the caller's own tools, by name."""

        async def work(caller: Principal) -> bytes:
            return (await self._page(caller, message)).SerializeToString()

        return await self._edge.guarded(context, work)

    async def _page(self, principal: Principal, message: Any) -> pb.ListToolsResponse:
        await self._edge.admission.admit(principal)
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

    def follow(self, trail: Trail) -> None:
        """A surface by itself follows no call."""

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
        yield_after_ms=getattr(message, "yield_after_ms", 0),
    )
