"""`grpc.health.v1`: whether calls are taken. It needs no identity and counts against nobody's rate."""

import asyncio
from collections.abc import Iterable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2 as pb

from gateway.server.streams import bounded

SERVICE = pb.DESCRIPTOR.services_by_name["Health"].full_name
WATCHES = 64
"""Watch streams at once on one listener; each lasts as long as its client likes."""

Context = grpc.aio.ServicerContext[Any, Any]


class Health:
    """The state of the gateway, which is that of each of its services. NOT_SERVING until it is told otherwise."""

    def __init__(self, services: Iterable[str]) -> None:
        self._services = frozenset({"", *services})
        self._is_serving = False
        self._is_over = False
        self._changed = asyncio.Event()

    def set_serving(self, is_serving: bool) -> None:
        """Say whether calls are taken from now on. Has no effect after `end`."""
        if self._is_over or is_serving == self._is_serving:
            return
        self._is_serving = is_serving
        self._tell()

    def end(self) -> None:
        """NOT_SERVING for good; whoever watches is told, and then their streams end."""
        self._is_serving, self._is_over = False, True
        self._tell()

    def handler(self) -> grpc.GenericRpcHandler:
        """The service for one listener."""
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "Check": grpc.unary_unary_rpc_method_handler(self._check, _read, _written),
            "List": grpc.unary_unary_rpc_method_handler(self._list, None, _written),
            "Watch": grpc.unary_stream_rpc_method_handler(bounded(WATCHES, self._watch), _read, _written),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _state(self, service: str) -> Any:
        if service not in self._services:
            return pb.HealthCheckResponse.SERVICE_UNKNOWN
        return pb.HealthCheckResponse.SERVING if self._is_serving else pb.HealthCheckResponse.NOT_SERVING

    async def _check(self, service: str | None, context: Context) -> pb.HealthCheckResponse:
        if service not in self._services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service here")
        return pb.HealthCheckResponse(status=self._state(service))

    async def _list(self, _request: bytes, _context: Context) -> Any:
        statuses = {name: pb.HealthCheckResponse(status=self._state(name)) for name in sorted(self._services)}
        return pb.HealthListResponse(statuses=statuses)  # type: ignore[attr-defined]  # newer than its stubs

    async def _watch(self, service: str, context: Context) -> None:
        """Each new state, and at once the one of now; to the end also for a service that is not known."""
        told = None
        while True:
            changed, is_over, state = self._changed, self._is_over, self._state(service)
            if state != told:
                await context.write(pb.HealthCheckResponse(status=state))
                told = state
            if is_over:
                return
            await changed.wait()


def _read(raw: bytes) -> str:
    """The service that a request names. Bytes that are no request name one that does not exist."""
    try:
        return pb.HealthCheckRequest.FromString(raw).service
    except DecodeError:
        return "\N{REPLACEMENT CHARACTER}"


def _written(message: Any) -> bytes:
    raw: bytes = message.SerializeToString()
    return raw
