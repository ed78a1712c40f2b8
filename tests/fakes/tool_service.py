"""A gRPC server with canned answers in the place of a gateway, for tests of its clients."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import grpc

from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceServicer, add_ToolServiceServicer_to_server


@dataclass(slots=True)
class CannedToolService(ToolServiceServicer):
    """Answers what a test put into it, or ends with the status that it asks for."""

    tools: list[pb.Tool] = field(default_factory=list)
    answer: Callable[[Any], pb.CallToolResponse] = lambda _request: pb.CallToolResponse()
    explanation: pb.ExplainCallResponse = field(default_factory=pb.ExplainCallResponse)
    status: grpc.StatusCode | None = None
    details: str = ""
    trailing: tuple[tuple[str, str], ...] = ()
    seen: list[pb.WatchCallResponse] = field(default_factory=list)
    """What GetCall gives the last of, and WatchCall all."""
    happened: list[pb.WatchEventsResponse] = field(default_factory=list)
    """What WatchEvents gives; then it goes on without an end, unless there is an `after`."""
    cancelled: pb.CancelCallResponse = field(default_factory=pb.CancelCallResponse)
    artifact: bytes | None = None
    page_size: int = 2
    asked: list[Any] = field(default_factory=list)
    """Every request, in order."""
    metadata: list[dict[str, Any]] = field(default_factory=list)

    def ListTools(self, request: Any, context: Any) -> pb.ListToolsResponse:  # noqa: N802 - gRPC's name
        """A page of the tools; the token is where the next begins."""
        self._note(request, context)
        begin = int(request.page_token or 0)
        end = begin + self.page_size
        token = str(end) if end < len(self.tools) else ""
        return pb.ListToolsResponse(tools=self.tools[begin:end], next_page_token=token)

    def CallTool(self, request: Any, context: Any) -> pb.CallToolResponse:  # noqa: N802 - gRPC's name
        """The canned answer."""
        self._note(request, context)
        return self.answer(request)

    def ExplainCall(self, request: Any, context: Any) -> pb.ExplainCallResponse:  # noqa: N802 - gRPC's name
        """The canned explanation."""
        self._note(request, context)
        return self.explanation

    def GetCall(self, request: Any, context: Any) -> pb.GetCallResponse:  # noqa: N802 - gRPC's name
        """As the call stands in the end."""
        self._note(request, context)
        return pb.GetCallResponse(call=self.seen[-1].call)

    def WatchCall(self, request: Any, context: Any) -> Iterator[pb.WatchCallResponse]:  # noqa: N802 - gRPC's name
        """As it stands, each time."""
        self._note(request, context)
        yield from self.seen

    def WatchEvents(self, request: Any, context: Any) -> Iterator[pb.WatchEventsResponse]:  # noqa: N802 - gRPC's name
        """Each, and then nothing more."""
        self._note(request, context)
        yield from self.happened
        over = Event()
        if not request.after and context.add_callback(over.set):
            over.wait()

    def CancelCall(self, request: Any, context: Any) -> pb.CancelCallResponse:  # noqa: N802 - gRPC's name
        """The canned answer."""
        self._note(request, context)
        return self.cancelled

    def ReadArtifact(self, request: Any, context: Any) -> pb.ReadArtifactResponse:  # noqa: N802 - gRPC's name
        """Three bytes of it at a time."""
        self._note(request, context)
        if self.artifact is None:
            return pb.ReadArtifactResponse(error=pb.ToolError(message="There is no such artifact."))
        piece = self.artifact[request.offset : request.offset + 3]
        return pb.ReadArtifactResponse(data=piece, total_bytes=len(self.artifact))

    def _note(self, request: Any, context: Any) -> None:
        self.asked.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        if self.status is not None:
            context.set_trailing_metadata(self.trailing)
            context.abort(self.status, self.details)


@contextmanager
def canned_gateway(
    service: CannedToolService, socket: Path, tls: grpc.ServerCredentials | None = None
) -> Iterator[int]:
    """The service on a Unix socket and on a loopback port, which is what the block gets."""
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    add_ToolServiceServicer_to_server(service, server)
    server.add_insecure_port(f"unix:{socket}")
    port = server.add_secure_port("127.0.0.1:0", tls) if tls else server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(grace=None).wait()
