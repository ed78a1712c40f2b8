"""Health says whether calls are taken, to anybody, within bounds, and to the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.echo import SERVICE, channel
from grpc_health.v1 import health_pb2 as pb
from grpc_health.v1 import health_pb2_grpc as rpc

from gateway.server.health import WATCHES, Health

SERVING, NOT_SERVING = pb.HealthCheckResponse.SERVING, pb.HealthCheckResponse.NOT_SERVING


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Health, grpc.aio.Channel]]:
    """Health on a listener, and a channel to it."""
    health = Health([SERVICE])
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((health.handler(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with channel(f"127.0.0.1:{port}") as opened:
            yield health, opened
    finally:
        await server.stop(0)


def asked(service: str = "") -> pb.HealthCheckRequest:
    """A request for one service."""
    return pb.HealthCheckRequest(service=service)


async def checked(stub: Any, service: str = "") -> Any:
    """The state of a service."""
    return (await stub.Check(asked(service), timeout=10)).status


@pytest.mark.parametrize("service", ["", SERVICE])
async def test_it_does_not_serve_until_it_is_told(service: str) -> None:
    """The server as a whole, and each of its services by name."""
    async with served() as (health, opened):
        stub = rpc.HealthStub(opened)
        states = []
        for is_serving in (None, True, True, False, True):
            if is_serving is not None:
                health.set_serving(is_serving)
            states.append(await checked(stub, service))
        assert states == [NOT_SERVING, SERVING, SERVING, NOT_SERVING, SERVING]


async def test_a_service_that_is_not_there_is_not_found() -> None:
    """As the standard says: a status for Check, a state for Watch, whose stream stays."""
    async with served() as (health, opened):
        stub = rpc.HealthStub(opened)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await checked(stub, "gateway.v1.Nothing")
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        watch = stub.Watch(asked("gateway.v1.Nothing"))
        assert (await watch.read()).status == pb.HealthCheckResponse.SERVICE_UNKNOWN
        health.set_serving(True)
        health.end()
        assert await watch.read() is grpc.aio.EOF


async def test_garbage_is_no_service() -> None:
    """NOT_FOUND, and not an error of ours that a stranger can fill a log with."""
    async with served() as (_, opened):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await opened.unary_unary("/grpc.health.v1.Health/Check")(b"\xff\xff", timeout=10)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_all_services_are_listed_with_their_state() -> None:
    """In one answer."""
    async with served() as (health, opened):
        health.set_serving(True)
        raw = await opened.unary_unary("/grpc.health.v1.Health/List")(b"", timeout=10)
        statuses = pb.HealthListResponse.FromString(raw).statuses
        assert {name: response.status for name, response in statuses.items()} == {"": SERVING, SERVICE: SERVING}


async def test_who_watches_is_told_of_each_change_and_of_the_end() -> None:
    """The state of now at once, a state that did not change never twice, and after the last one the stream ends."""
    async with served() as (health, opened):
        watch = rpc.HealthStub(opened).Watch(asked())
        assert (await watch.read()).status == NOT_SERVING
        health.set_serving(False)
        health.set_serving(True)
        assert (await watch.read()).status == SERVING
        health.end()
        assert (await watch.read()).status == NOT_SERVING
        assert await watch.read() is grpc.aio.EOF
        assert await watch.code() is grpc.StatusCode.OK


async def test_the_end_is_final() -> None:
    """Nothing that becomes ready while the gateway stops makes it serve again."""
    async with served() as (health, opened):
        health.set_serving(True)
        health.end()
        health.set_serving(True)
        stub = rpc.HealthStub(opened)
        assert await checked(stub) == NOT_SERVING
        assert [one.status async for one in stub.Watch(asked(), timeout=10)] == [NOT_SERVING]


async def test_watching_is_bounded_and_checking_goes_on() -> None:
    """Nobody can exhaust the gateway by watching it."""
    async with served() as (_, opened):
        stub = rpc.HealthStub(opened)
        watches = [stub.Watch(asked()) for _ in range(WATCHES)]
        await asyncio.gather(*(watch.read() for watch in watches))
        assert await stub.Watch(asked()).code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await checked(stub) == NOT_SERVING
