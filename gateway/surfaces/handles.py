"""The gRPC edge of calls as handles: how a call stands, following it, stopping it, and what was too large to send.

A part of ToolService, on the same listeners.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import grpc
from google.protobuf.message import Message

from gateway.call import Failure, Principal
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.handles.base import Seen
from gateway.handles.handles import Handles
from gateway.result.artifacts import Artifacts
from gateway.surfaces.edge import Context, Edge, streaming, unary
from gateway.surfaces.grpc import SERVICE
from gateway.surfaces.messages import STOPPED, call_response, fill_error
from gateway.v1 import tool_service_pb2 as pb

_MOST_CHARACTERS = {"call_id": 64, "tool": 128, "artifact_id": 128}


class HandleService:
    """The RPCs of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, handles: Handles, artifacts: Artifacts) -> None:
        self._edge = edge
        self._handles = handles
        self._artifacts = artifacts

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs, to be added to a server beside those of `ToolService`."""
        unreadable, bounds = self._edge.unreadable, _MOST_CHARACTERS
        methods = {
            "GetCall": unary(self.get_call, pb.GetCallRequest, unreadable, most_characters=bounds),
            "WatchCall": streaming(self.watch_call, pb.WatchCallRequest, unreadable, most_characters=bounds),
            "CancelCall": unary(self.cancel_call, pb.CancelCallRequest, unreadable, most_characters=bounds),
            "ReadArtifact": unary(self.read_artifact, pb.ReadArtifactRequest, unreadable, most_characters=bounds),
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    async def get_call(self, message: Any, context: Context) -> bytes:
        """GetCall. Asking is counted as any request is, and leaves no line."""

        async def work(caller: Principal) -> bytes:
            await self._edge.admission.admit(caller)
            seen = await self._seen(caller, message)
            return pb.GetCallResponse(call=call_response(seen.answer)).SerializeToString()

        return await self._edge.guarded(context, work)

    def watch_call(self, message: Any, context: Context) -> AsyncIterator[bytes]:
        """WatchCall."""

        async def work(caller: Principal) -> AsyncIterator[Message]:
            await self._edge.admission.admit(caller)
            async with contextlib.aclosing(self._handles.watch(caller, message.call_id)) as watched:
                async for seen in watched:
                    yield pb.WatchCallResponse(
                        call=call_response(seen.answer),
                        step=seen.step,
                        elapsed_ms=seen.elapsed_ms,
                        progress=_progress(seen.progress),
                    )

        return self._edge.streamed(context, work)

    async def cancel_call(self, message: Any, context: Context) -> bytes:
        """CancelCall."""

        async def work(caller: Principal) -> bytes:
            await self._edge.admission.admit(caller)
            stop = await self._handles.cancel(caller, message.call_id)
            return pb.CancelCallResponse(cancelled=STOPPED[stop.kind], message=stop.message).SerializeToString()

        return await self._edge.guarded(context, work)

    async def read_artifact(self, message: Any, context: Context) -> bytes:
        """ReadArtifact. One that is not there, not the caller's or not kept any more is an error as data."""

        async def work(caller: Principal) -> bytes:
            await self._edge.admission.admit(caller)
            response = pb.ReadArtifactResponse()
            try:
                piece = await self._artifacts.read(caller, message.artifact_id, message.offset, message.max_bytes)
            except Refusal as refusal:
                if refusal.reason is not Reason.ARTIFACT_NOT_FOUND:
                    raise
                fill_error(response.error, Failure.of(refusal))
            else:
                response.data, response.total_bytes = piece.data, piece.total_bytes
            return response.SerializeToString()

        return await self._edge.guarded(context, work)

    async def _seen(self, caller: Principal, message: Any) -> Seen:
        if message.call_id:
            return await self._handles.get(caller, message.call_id)
        if message.tool and message.idempotency_key:
            return await self._handles.get_by_key(caller, message.tool, message.idempotency_key)
        raise Refused(RefusedKind.INVALID, "name a call_id, or the tool and the idempotency_key of the call")


def _progress(progress: tuple[float, float | None] | None) -> pb.Progress | None:
    return None if progress is None else pb.Progress(done=progress[0], total=progress[1] or 0.0)
