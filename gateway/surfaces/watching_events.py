"""The gRPC edge of events: what happened at vendors, streamed to the agents that it is for.

A part of ToolService, on the same listeners.
"""

import contextlib
import math
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.call import Principal
from gateway.events.base import Told
from gateway.events.cursors import MOST_CHARACTERS
from gateway.events.interest import Asked
from gateway.events.watching import Seen, Watching
from gateway.surfaces.edge import Context, Edge, streaming
from gateway.surfaces.grpc import SERVICE
from gateway.v1 import tool_service_pb2 as pb

_NANOS = 1_000_000_000


class WatchingEvents:
    """WatchEvents of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, watching: Watching, on_sent: Callable[[], None]) -> None:
        self._edge = edge
        self._watching = watching
        self._on_sent = on_sent

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPC, to be added to a server beside those of `ToolService`."""
        bounds = {"after": MOST_CHARACTERS}
        watch = streaming(self.watch_events, pb.WatchEventsRequest, self._edge.unreadable, most_characters=bounds)
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, {"WatchEvents": watch}))

    def watch_events(self, message: Any, context: Context) -> AsyncIterator[bytes]:
        """WatchEvents. It counts as one request."""

        async def work(caller: Principal) -> AsyncIterator[Message]:
            await self._edge.admission.admit(caller)
            asked = Asked.of(message.connections, message.kinds)
            watched = self._watching.watch(caller, asked, after=message.after, from_oldest=message.from_oldest)
            async with contextlib.aclosing(watched):
                async for seen in watched:
                    yield _response(seen)
                    if seen.event is not None:
                        self._on_sent()

        return self._edge.streamed(context, work)


def _response(seen: Seen) -> pb.WatchEventsResponse:
    event = None if seen.event is None else _event(seen.event)
    return pb.WatchEventsResponse(event=event, cursor=seen.cursor, missed=seen.missed)


def _event(told: Told) -> pb.Event:
    return pb.Event(
        id=told.id,
        connection=told.connection,
        vendor=told.vendor,
        kind=told.kind,
        subject=told.subject,
        occurred_at=None if told.occurred_at is None else _timestamp(told.occurred_at),
        received_at=_timestamp(told.received_at),
        data_json=told.data_json,
        labels=told.labels,
    )


def _timestamp(at: float) -> Timestamp:
    fraction, seconds = math.modf(at)
    return Timestamp(seconds=int(seconds), nanos=round(fraction * 1_000_000) * 1000 % _NANOS)
