"""Listeners that serve what they name, and a drain that lets calls in flight finish."""

import asyncio
from pathlib import Path

import grpc
import grpc.aio
import pytest
from fakes.audit import until
from fakes.echo import METHOD, Echo, channel, said, server_of, socket_listener, tcp_listener

from gateway.errors import StartError
from gateway.server.listening import Server
from gateway.server.options import requests_for


async def problem_of(server: Server) -> str:
    """Why the server does not start."""
    with pytest.raises(StartError) as caught:
        await server.start()
    return caught.value.message


def left_in(folder: Path) -> list[str]:
    """The names in a folder."""
    return sorted(path.name for path in folder.iterdir())


async def test_each_listener_answers_at_its_address(tmp_path: Path) -> None:
    """A socket and a port, the port being the real one."""
    server = server_of(socket_listener(tmp_path), tcp_listener("tcp"))
    await server.start()
    try:
        assert not server.addresses["tcp"].endswith(":0")
        assert [await said(address) for address in server.addresses.values()] == [b"hi", b"hi"]
    finally:
        await server.stop()


async def test_a_port_that_is_taken_is_a_sentence(tmp_path: Path) -> None:
    """Two gateways never share one; what was opened before it is closed again."""
    first = server_of(tcp_listener("tcp"))
    await first.start()
    try:
        second = server_of(socket_listener(tmp_path), tcp_listener("tcp", first.addresses["tcp"]))
        assert await problem_of(second) == (f"cannot listen on {first.addresses['tcp']}: the port is taken or not ours")
        assert left_in(tmp_path) == []
    finally:
        await first.stop()


async def test_a_socket_whose_group_is_unknown_is_closed_again(tmp_path: Path) -> None:
    """It was bound already: nothing of it is left in the process, and its path is free."""
    server = server_of(socket_listener(tmp_path, group="no-such-group-here"))
    assert "no group" in await problem_of(server)
    assert left_in(tmp_path) == []
    await asyncio.wait_for(until(lambda: str(tmp_path) not in Path("/proc/net/unix").read_text()), 5)


async def test_who_comes_too_late_is_counted() -> None:
    """Each call, and none that came in time."""
    late: list[None] = []
    echo = Echo(gate=asyncio.Event())
    server = server_of(tcp_listener(), echo=echo, on_late=lambda: late.append(None))
    await server.start()
    async with channel(server.addresses["tcp"]) as opened:
        say = opened.unary_unary(METHOD)
        first = asyncio.ensure_future(say(b"first", timeout=10))
        await until(lambda: echo.started == [b"first"])
        draining = asyncio.ensure_future(server.drain(5))
        with pytest.raises(grpc.aio.AioRpcError):
            await say(b"late", timeout=10)
        assert echo.gate is not None
        echo.gate.set()
        assert await first == b"first"
    await draining
    assert len(late) == 1


async def asked(address: str, what: bytes = b"hi") -> grpc.StatusCode:
    """The status that a call on a connection of its own ends with."""
    try:
        await said(address, what)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_a_call_in_flight_ends_well_and_one_that_comes_too_late_is_unavailable() -> None:
    """The drain waits for the first; the second is told at once that nothing was done, and when to come back."""
    echo = Echo(gate=asyncio.Event())
    server = server_of(tcp_listener(), echo=echo)
    await server.start()
    async with channel(server.addresses["tcp"]) as opened:
        say = opened.unary_unary(METHOD)
        first = asyncio.ensure_future(say(b"first", timeout=10))
        await until(lambda: echo.started == [b"first"])
        draining = asyncio.ensure_future(server.drain(1))
        with pytest.raises(grpc.aio.AioRpcError) as late:
            await say(b"late", timeout=10)
        assert late.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "nothing was done" in (late.value.details() or "")
        assert dict(late.value.trailing_metadata() or ())["tollhouse-reason"] == "draining"
        assert not draining.done()
        assert echo.gate is not None
        echo.gate.set()
        assert await first == b"first"
    await draining
    assert echo.started == [b"first"]


async def test_an_abort_during_the_drain_reaches_its_caller() -> None:
    """A handler that ends by a status is waited for as one that answers."""
    echo = Echo(gate=asyncio.Event())
    server = server_of(tcp_listener(), echo=echo)
    await server.start()
    call = asyncio.ensure_future(asked(server.addresses["tcp"], b"abort"))
    await until(lambda: echo.started == [b"abort"])
    draining = asyncio.ensure_future(server.drain(1))
    assert echo.gate is not None
    echo.gate.set()
    assert await call is grpc.StatusCode.PERMISSION_DENIED
    await draining


async def test_who_asks_again_and_again_is_never_told_that_itself_gave_up() -> None:
    """Twenty clients that ask without a pause through the whole drain: OK, then UNAVAILABLE, and no CANCELLED."""
    server = server_of(tcp_listener())
    await server.start()
    seen: set[grpc.StatusCode] = set()
    counts = [0] * 20

    async def ask(number: int) -> None:
        async with channel(server.addresses["tcp"]) as opened:
            say = opened.unary_unary(METHOD)
            while not stopped.is_set():
                counts[number] += 1
                try:
                    await say(b"x", timeout=10)
                    seen.add(grpc.StatusCode.OK)
                except grpc.aio.AioRpcError as error:
                    seen.add(error.code())
                    await asyncio.sleep(0.001)

    stopped = asyncio.Event()
    asking = [asyncio.create_task(ask(number)) for number in range(20)]
    await until(lambda: min(counts) > 5)
    await server.drain(1)
    enough = sum(counts) + 100
    await until(lambda: sum(counts) > enough)
    stopped.set()
    await asyncio.gather(*asking)
    assert seen == {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}


async def test_what_outlasts_the_drain_is_cancelled() -> None:
    """Its handler is told, its caller has a status, and the drain ends."""
    echo = Echo(gate=asyncio.Event())
    server = server_of(tcp_listener(), echo=echo)
    await server.start()
    call = asyncio.ensure_future(asked(server.addresses["tcp"]))
    await until(lambda: echo.started == [b"hi"])
    await asyncio.wait_for(server.drain(0.1), 2.1)
    assert echo.cancelled == [b"hi"]
    assert await call in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


async def test_a_handler_that_does_not_end_cannot_hold_the_stop_up(tmp_path: Path) -> None:
    """It ignores that it was cancelled: the sockets are gone all the same, within a second."""

    class Stubborn(Echo):
        async def _say(self, request: bytes, context: object) -> bytes:
            self.started.append(request)
            assert self.gate is not None
            while not self.gate.is_set():
                try:
                    await self.gate.wait()
                except asyncio.CancelledError:
                    self.cancelled.append(request)
            return request

    echo = Stubborn(gate=asyncio.Event())
    server = server_of(socket_listener(tmp_path), echo=echo)
    await server.start()
    call = asyncio.ensure_future(asked(server.addresses["agent"]))
    await until(lambda: echo.started == [b"hi"])
    await asyncio.wait_for(server.stop(), 2)
    assert left_in(tmp_path) == []
    assert echo.gate is not None
    echo.gate.set()
    assert await call is not grpc.StatusCode.OK


async def test_streams_that_nobody_ends_do_not_hold_the_drain_up() -> None:
    """Watching and reflecting clients that stay connected and say nothing: told, ended, and nobody waits."""
    server = server_of(tcp_listener())
    await server.start()
    server.health.set_serving(True)
    async with channel(server.addresses["tcp"]) as opened:
        watch = opened.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        assert await watch.read() == b"\x08\x01"
        reflect = opened.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")()
        await reflect.write(b"\x3a\x00")
        assert b"test.Echo" in await reflect.read()
        await asyncio.wait_for(server.drain(5), 1.5)
        assert [await watch.read(), await watch.read()] == [b"\x08\x02", grpc.aio.EOF]
        assert await watch.code() is grpc.StatusCode.OK
        assert await reflect.read() is grpc.aio.EOF
        assert await reflect.code() is grpc.StatusCode.OK


async def test_draining_and_stopping_twice_is_harmless(tmp_path: Path) -> None:
    """Also of a server that never started."""
    for starts in (True, False):
        server = server_of(socket_listener(tmp_path))
        if starts:
            await server.start()
        await server.drain(1)
        await server.drain(1)
        await server.stop()
        assert left_in(tmp_path) == []


async def test_a_probe_listener_serves_health_and_none_of_the_services() -> None:
    """It needs no identity, since there is nothing to be had."""
    server = server_of(tcp_listener("probes", services=["health"], identity=None), tcp_listener())
    await server.start()
    async with channel(server.addresses["probes"]) as opened:
        assert await opened.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10) == b"\x08\x02"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await opened.unary_unary(METHOD)(b"", timeout=10)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    await server.stop()


async def test_a_listener_without_reflection_tells_nothing() -> None:
    """UNIMPLEMENTED under both names."""
    server = server_of(tcp_listener(reflection=False))
    await server.start()
    async with channel(server.addresses["tcp"]) as opened:
        for version in ("v1", "v1alpha"):
            call = opened.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo")()
            assert await call.code() is grpc.StatusCode.UNIMPLEMENTED
    await server.stop()


async def test_more_requests_than_the_transport_takes_are_turned_away() -> None:
    """RESOURCE_EXHAUSTED at once for what is beyond the bound; when there is room again, calls go on."""
    echo = Echo(gate=asyncio.Event())
    server = server_of(tcp_listener(), echo=echo, max_in_flight=1)
    await server.start()
    most = requests_for(1)
    async with channel(server.addresses["tcp"]) as opened:
        say = opened.unary_unary(METHOD)
        calls = [asyncio.ensure_future(say(b"x", timeout=10)) for _ in range(most)]
        await until(lambda: len(echo.started) == most)
        assert await asked(server.addresses["tcp"]) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert echo.gate is not None
        echo.gate.set()
        assert await asyncio.gather(*calls) == [b"x"] * most
        assert await asked(server.addresses["tcp"]) is grpc.StatusCode.OK
    await server.stop()
