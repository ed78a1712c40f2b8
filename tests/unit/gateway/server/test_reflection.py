"""Reflection tells of a listener's services, and of nothing else that the process knows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.echo import channel
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2 as pb

from gateway.server.reflection import ALPHA, STREAMS, V1, Reflection
from gateway.surfaces.grpc import SERVICE
from gateway.v1 import codes_pb2

HEALTH = "grpc.health.v1.Health"


@asynccontextmanager
async def served(over: asyncio.Event | None = None) -> AsyncIterator[grpc.aio.Channel]:
    """Reflection of ToolService and health."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(Reflection([SERVICE, HEALTH], over or asyncio.Event()).handlers())
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with channel(f"127.0.0.1:{port}") as opened:
            yield opened
    finally:
        await server.stop(0)


def stream(opened: grpc.aio.Channel, name: str = V1) -> Any:
    """A reflection stream."""
    method = opened.stream_stream(
        f"/{name}/ServerReflectionInfo",
        request_serializer=pb.ServerReflectionRequest.SerializeToString,
        response_deserializer=pb.ServerReflectionResponse.FromString,
    )
    return method(timeout=10)


async def told(call: Any, **question: Any) -> Any:
    """The answer to one question."""
    await call.write(pb.ServerReflectionRequest(**question))
    return await call.read()


@pytest.mark.parametrize("name", [V1, ALPHA])
async def test_exactly_the_listeners_services_are_listed(name: str) -> None:
    """Its own, health, and reflection under both of its names; asked under either."""
    async with served() as opened:
        call = stream(opened, name)
        answer = await told(call, list_services="")
        names = [service.name for service in answer.list_services_response.service]
        assert names == sorted([SERVICE, HEALTH, V1, ALPHA])
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        assert await call.code() is grpc.StatusCode.OK


@pytest.mark.parametrize("symbol", [SERVICE, HEALTH, V1, ALPHA, "gateway.v1.CallToolRequest"])
async def test_what_a_tool_needs_to_call_a_service_is_there(symbol: str) -> None:
    """The files that describe it build into a pool of their own, with the service in it."""
    async with served() as opened:
        answer = await told(stream(opened), file_containing_symbol=symbol)
    pool = descriptor_pool.DescriptorPool()
    files = [FileDescriptorProto.FromString(raw) for raw in answer.file_descriptor_response.file_descriptor_proto]
    for file in reversed(files):
        pool.Add(file)
    assert pool.FindFileContainingSymbol(symbol).name == files[0].name


@pytest.mark.parametrize("symbol", ["google.protobuf.FileDescriptorProto", "grpc.gateway.Nothing", "test.Echo"])
async def test_what_else_the_process_knows_is_not_found(symbol: str) -> None:
    """Though its descriptors are loaded."""
    async with served() as opened:
        answer = await told(stream(opened), file_containing_symbol=symbol)
        assert answer.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


async def test_files_are_found_by_name() -> None:
    """Those of the services and what they import."""
    async with served() as opened:
        call = stream(opened)
        answer = await told(call, file_by_filename=codes_pb2.DESCRIPTOR.name)
        assert len(answer.file_descriptor_response.file_descriptor_proto) == 1
        answer = await told(call, file_by_filename="google/protobuf/descriptor.proto")
        assert answer.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


async def test_garbage_and_an_empty_question_are_invalid_and_the_stream_goes_on() -> None:
    """As the library says it; no error of ours."""
    async with served() as opened:
        call = opened.stream_stream(f"/{V1}/ServerReflectionInfo")()
        for raw in (b"\xff\xff", b""):
            await call.write(raw)
            answer = pb.ServerReflectionResponse.FromString(await call.read())
            assert answer.error_response.error_code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
        call.cancel()


async def test_streams_end_when_the_gateway_stops() -> None:
    """Also one whose client says nothing."""
    over = asyncio.Event()
    async with served(over) as opened:
        call = stream(opened)
        await told(call, list_services="")
        over.set()
        assert await call.read() is grpc.aio.EOF
        assert await call.code() is grpc.StatusCode.OK


async def test_streams_are_bounded_in_number() -> None:
    """Over both names together."""
    async with served() as opened:
        calls = [stream(opened, (V1, ALPHA)[number % 2]) for number in range(STREAMS)]
        await asyncio.gather(*(told(call, list_services="") for call in calls))
        assert await stream(opened).code() is grpc.StatusCode.RESOURCE_EXHAUSTED
