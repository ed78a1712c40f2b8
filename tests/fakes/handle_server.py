"""A real gRPC server over a replica's handles: ToolService with everything but ListTools' catalogue."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio

from fakes.handles import Replica
from fakes.principals import FakeAuthenticator
from gateway.admission import Admission
from gateway.call import Principal
from gateway.metrics.counts import Metrics
from gateway.result.artifacts import Artifacts
from gateway.settings.handles import ArtifactSettings
from gateway.surfaces.edge import Edge
from gateway.surfaces.grpc import ToolService
from gateway.surfaces.handles import HandleService
from gateway.telemetry import configure
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub


def _no_catalogue() -> Any:
    raise AssertionError("nobody lists tools here")


@dataclass
class Asker:
    """One caller of the server."""

    channel: grpc.aio.Channel
    stub: Any
    who: str

    async def begun(self, request: pb.CallToolRequest) -> tuple[Any, str]:
        """A call that is waited for, and its id, which goes ahead of the answer. On the wire a unary call is a stream
        of one answer, and only so does this client show metadata early.
        """
        method = self.channel.unary_stream(
            "/gateway.v1.ToolService/CallTool",
            request_serializer=pb.CallToolRequest.SerializeToString,
            response_deserializer=pb.CallToolResponse.FromString,
        )
        calling = method(request, metadata=(("who", self.who),))
        ahead = dict(await asyncio.wait_for(calling.initial_metadata(), 10))
        return calling, ahead["tollhouse-call-id"]

    def __getattr__(self, method: str) -> Any:
        """The RPC of that name; `timeout` and so on as gRPC names them."""
        rpc = getattr(self.stub, method)
        return lambda request, **more: rpc(request, metadata=(("who", self.who),), **more)


@asynccontextmanager
async def serving(
    one: Replica, folder: Path, caller: Principal | None = None, *, admission: Admission | None = None
) -> AsyncIterator[tuple[Asker, Artifacts]]:
    """Whoever asks is this caller. The artifacts are in the folder."""
    caller = caller or one.caller
    artifacts = Artifacts(
        folder / "artifacts",
        ArtifactSettings(min_free_bytes=0),
        seal=one.seal,
        clock=one.clock,
        new_id=lambda: secrets.token_urlsafe(24),
    )
    await artifacts.open()
    edge = Edge(
        listener="agent",
        authenticator=FakeAuthenticator(caller),
        admission=admission or one.admission,
        metrics=Metrics(listeners=["agent"]),
        log=configure("error"),
    )
    server = grpc.aio.server()
    tools = ToolService(edge, one.handles, _no_catalogue)
    server.add_generic_rpc_handlers((tools.handler(), HandleService(edge, one.handles, artifacts).handler()))
    address = f"unix:{folder}/{caller.id}-{one.writer}.sock"
    server.add_insecure_port(address)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(address) as channel:
            yield Asker(channel, ToolServiceStub(channel), caller.id), artifacts
    finally:
        one.handles.drain()
        await server.stop(2)
        await artifacts.close()
