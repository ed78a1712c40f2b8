"""CallService: what became of calls whose outcome nobody knows, for operators. Protobuf and nothing else."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

import grpc
from google.protobuf.message import Message

from adapters.base import Happened
from gateway.call import Principal
from gateway.errors import Refused, RefusedKind
from gateway.resolution.desk import MOST_REASON, Desk, Shown
from gateway.surfaces.edge import Context, Edge, unary
from gateway.v1 import call_service_pb2 as pb

SERVICE = "gateway.v1.CallService"
_MOST_CHARACTERS = {"call_id": 128, "page_token": 256, "reason": MOST_REASON}
_HAPPENED = {pb.RESOLUTION_DONE: Happened.YES, pb.RESOLUTION_NOT_DONE: Happened.NO}


class CallService:
    """CallService of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, desk: Desk) -> None:
        self._edge = edge
        self._desk = desk

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs of the service, to be added to a server."""
        methods = {
            "ListUnresolved": self._unary(self.list_unresolved, pb.ListUnresolvedRequest),
            "ResolveCall": self._unary(self.resolve_call, pb.ResolveCallRequest),
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    def _unary(
        self, method: Callable[[Any, Context], Awaitable[bytes]], message: type[Message]
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        return unary(method, message, self._edge.unreadable, most_characters=_MOST_CHARACTERS)

    async def list_unresolved(self, message: Any, context: Context) -> bytes:
        """ListUnresolved: a page of the caller's tenant, oldest first."""

        async def work(caller: Principal) -> bytes:
            await self._edge.admission.admit(caller)
            shown, token = await self._desk.unresolved(caller, token=message.page_token, size=message.page_size)
            response = pb.ListUnresolvedResponse(calls=map(_call, shown), next_page_token=token)
            return response.SerializeToString()

        return await self._edge.guarded(context, work)

    async def resolve_call(self, message: Any, context: Context) -> bytes:
        """ResolveCall."""

        async def work(caller: Principal) -> bytes:
            await self._edge.admission.admit(caller)
            happened = _HAPPENED.get(message.resolution)
            if happened is None:
                raise Refused(RefusedKind.INVALID, "Say whether it was done: RESOLUTION_DONE or RESOLUTION_NOT_DONE.")
            shown = await self._desk.resolve(caller, message.call_id, happened, message.reason)
            return pb.ResolveCallResponse(call=_call(shown)).SerializeToString()

        return await self._edge.guarded(context, work)


def _call(shown: Shown) -> pb.UnresolvedCall:
    unknown, told = shown.unknown, shown.told
    call = pb.UnresolvedCall(
        call_id=unknown.call_id,
        effect_id=unknown.effect_id,
        agent=told.agent,
        tool=told.tool,
        connection=told.connection,
        arguments_digest=unknown.arguments_digest,
        arguments=told.arguments,
        reconcilable=shown.is_askable,
    )
    call.claimed_at.FromDatetime(unknown.claimed_at)
    return call
