"""Streams that need no identity: bounded in number, and ended when the gateway stops."""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

Context = grpc.aio.ServicerContext[Any, Any]
Behaviour = Callable[[Any, Context], Awaitable[None]]


def bounded(most: int, behaviour: Behaviour) -> Behaviour:
    """The same behaviour for this many streams at once; further ones are told RESOURCE_EXHAUSTED."""
    open_ = 0

    async def within_bounds(request: Any, context: Context) -> None:
        nonlocal open_
        if open_ >= most:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"at most {most} such streams at once")
        open_ += 1
        try:
            await behaviour(request, context)
        finally:
            open_ -= 1

    return within_bounds
