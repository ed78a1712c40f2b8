"""Streams without identity are bounded in number."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from fakes.echo import channel

from gateway.server.streams import bounded


async def _listen(request: bytes, context: Any) -> None:
    await context.write(request)
    if request == b"stay":
        await asyncio.Event().wait()


@asynccontextmanager
async def listening(most: int) -> AsyncIterator[grpc.aio.Channel]:
    """Two services, each with this bound."""
    server = grpc.aio.server()
    for name in ("test.One", "test.Other"):
        methods: dict[str, Any] = {"Listen": grpc.unary_stream_rpc_method_handler(bounded(most, _listen))}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with channel(f"127.0.0.1:{port}") as opened:
            yield opened
    finally:
        await server.stop(0)


async def status_of(call: Any) -> grpc.StatusCode:
    """What a stream ends with."""
    try:
        _ = [message async for message in call]
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_streams_beyond_the_bound_are_turned_away_until_one_ends() -> None:
    """RESOURCE_EXHAUSTED with the bound in it; a client that goes away makes room, and so does a stream that ends."""
    async with listening(2) as opened:
        listen = opened.unary_stream("/test.One/Listen")
        first, second = listen(b"stay"), listen(b"stay")
        assert [await first.read(), await second.read()] == [b"stay", b"stay"]
        third = listen(b"stay")
        assert await third.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await third.details() == "at most 2 such streams at once"
        first.cancel()
        async with asyncio.timeout(5):
            while await status_of(listen(b"go")) is not grpc.StatusCode.OK:
                assert second.done() is False
        assert await status_of(listen(b"go")) is grpc.StatusCode.OK


async def test_each_bound_counts_for_itself() -> None:
    """A listener whose streams are all taken does not shut the others."""
    async with listening(1) as opened:
        stays = opened.unary_stream("/test.One/Listen")(b"stay")
        assert await stays.read() == b"stay"
        assert await status_of(opened.unary_stream("/test.One/Listen")(b"go")) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert await status_of(opened.unary_stream("/test.Other/Listen")(b"go")) is grpc.StatusCode.OK
