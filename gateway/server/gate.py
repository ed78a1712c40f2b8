"""Between transport and services: which calls are in flight, and the farewell of those that come too late."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import grpc
import grpc.aio

Context = grpc.aio.ServicerContext[Any, Any]
Behaviour = Callable[[Any, Context], Awaitable[Any]]

FAREWELL = "the gateway is stopping; nothing was done: ask another, or ask again later"
FAREWELL_METADATA = (("tollhouse-reason", "draining"), ("retry-after-ms", "1000"))


class Gate:
    """Lets calls through until it is closed; then each is told UNAVAILABLE, and was never a call.

    gRPC by itself ends a request that arrives while a server stops with CANCELLED, which tells a client that
    itself gave up. So the gate is closed while the server still listens. For its last moment requests are `held`:
    a client that would ask again and again has no request under way then, and when it is told, it already knows
    that this connection takes no more.
    """

    def __init__(self, on_late: Callable[[], None] = lambda: None) -> None:
        """`on_late` hears of each that came too late."""
        self._on_late = on_late
        self._active = 0
        self._is_closed = False
        self._empty = asyncio.Event()
        self._released = asyncio.Event()
        self._released.set()

    @property
    def active(self) -> int:
        """Calls that went through and did not come back yet."""
        return self._active

    def guard(self, handler: grpc.GenericRpcHandler) -> grpc.GenericRpcHandler:
        """The handler with the gate before each of its unary methods."""
        return _Guarded(handler, self._guarded)

    def close(self) -> None:
        """Let nobody through any more."""
        self._is_closed = True
        if not self._active:
            self._empty.set()

    async def emptied(self, within_seconds: float) -> bool:
        """Whether every call came back within this time. The gate is closed."""
        try:
            await asyncio.wait_for(self._empty.wait(), within_seconds)
        except TimeoutError:
            return False
        return True

    def hold(self) -> None:
        """Do not answer who comes too late, until they are released."""
        self._released.clear()

    def release(self) -> None:
        """Answer them."""
        self._released.set()

    def _guarded(self, behaviour: Behaviour) -> Behaviour:
        async def pass_through(request: Any, context: Context) -> Any:
            if self._is_closed:
                self._on_late()
                await self._released.wait()
                await context.abort(grpc.StatusCode.UNAVAILABLE, FAREWELL, FAREWELL_METADATA)
            self._active += 1
            try:
                return await behaviour(request, context)
            finally:
                self._active -= 1
                if self._is_closed and not self._active:
                    self._empty.set()

        return pass_through


class _Guarded(grpc.GenericRpcHandler):
    """Looks a method up once and remembers it with the gate before it."""

    def __init__(self, handler: grpc.GenericRpcHandler, guarded: Callable[[Behaviour], Behaviour]) -> None:
        self._handler = handler
        self._guarded = guarded
        self._known: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any] | None":
        """The method's handler; None when there is no such method."""
        method = handler_call_details.method
        known = self._known.get(method)
        if known is not None:
            return known
        found = self._handler.service(handler_call_details)
        if found is None or found.unary_unary is None:
            return found
        self._known[method] = guarded = grpc.unary_unary_rpc_method_handler(
            self._guarded(cast(Behaviour, found.unary_unary)),
            request_deserializer=found.request_deserializer,
            response_serializer=found.response_serializer,
        )
        return guarded
