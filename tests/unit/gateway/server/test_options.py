"""What the transport allows before a request is a call, over the wire."""

import asyncio
import resource
import socket
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.audit import until
from fakes.certificates import TlsAuthority
from fakes.echo import METHOD, Echo, channel, said, server_of, socket_listener, tcp_listener

from gateway.server import options
from gateway.settings.parts import ServerSettings


async def status_of(call: Any) -> grpc.StatusCode:
    """What a call ends with."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


async def test_a_token_of_16_kib_always_arrives_and_more_than_the_bound_never() -> None:
    """By itself gRPC turns what is between 8 and 16 KiB away by chance."""
    server = server_of(tcp_listener())
    await server.start()
    async with channel(server.addresses["tcp"]) as opened:
        say = opened.unary_unary(METHOD)
        largest = [("authorization", "x" * (16 * 1024 + 7)), ("more", "x" * 2000)]
        statuses = {await status_of(say(b"x", metadata=largest, timeout=10)) for _ in range(20)}
        assert statuses == {grpc.StatusCode.OK}
        beyond = [("authorization", "x" * options.METADATA_BYTES)]
        assert await status_of(say(b"x", metadata=beyond, timeout=10)) is grpc.StatusCode.RESOURCE_EXHAUSTED
    await server.stop()


async def test_a_message_is_bounded_also_when_it_was_packed() -> None:
    """What unpacks to more than the bound is refused before it is whole."""
    server = server_of(tcp_listener())
    await server.start()
    sizes = (("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1))
    async with channel(server.addresses["tcp"], None, *sizes) as opened:
        say = opened.unary_unary(METHOD)
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            for more, status in ((0, grpc.StatusCode.OK), (1, grpc.StatusCode.RESOURCE_EXHAUSTED)):
                message = b"x" * (options.TRANSPORT_BYTES + more)
                assert await status_of(say(message, compression=compression, timeout=20)) is status
    await server.stop()


async def test_connections_beyond_the_bound_are_closed_and_those_within_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood takes what its listener has, and neither another listener nor the files that the journal needs."""
    monkeypatch.setattr(options, "MOST_CONNECTIONS", 3)
    server = server_of(tcp_listener(), tcp_listener("other"))
    await server.start()
    host, _, port = server.addresses["tcp"].rpartition(":")
    async with channel(server.addresses["tcp"]) as opened:
        say = opened.unary_unary(METHOD)
        assert await say(b"x", timeout=10) == b"x"
        flood = [socket.create_connection((host, int(port)), timeout=2) for _ in range(6)]
        try:
            closed = await asyncio.wait_for(asyncio.to_thread(lambda: [one for one in flood[3:] if is_closed(one)]), 10)
            assert len(closed) == 3
            assert await say(b"y", timeout=10) == b"y"
            assert await said(server.addresses["other"]) == b"hi"
        finally:
            for one in flood:
                one.close()
    await server.stop()


async def test_who_connects_and_says_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence takes a place among the connections no longer than a handshake may take."""
    monkeypatch.setattr(options, "HANDSHAKE_MS", 200)
    server = server_of(tcp_listener())
    await server.start()
    host, _, port = server.addresses["tcp"].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5) as silent:
        assert await asyncio.to_thread(is_closed, silent)
    await server.stop()


def is_closed(one: socket.socket) -> bool:
    """Whether the server closes a connection on which nothing was said; what it says first is read."""
    try:
        while one.recv(1024):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize(("files", "listeners", "connections"), [(1024, 2, 256), (1024, 0, 512), (1, 9, 1)])
def test_half_of_the_files_are_for_connections(
    monkeypatch: pytest.MonkeyPatch, files: int, listeners: int, connections: int
) -> None:
    """Shared by the listeners; at least one each."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert options.connections_for(listeners) == connections


@pytest.mark.parametrize("files", [1_000_000, resource.RLIM_INFINITY])
def test_the_connections_have_a_bound_of_their_own(monkeypatch: pytest.MonkeyPatch, files: int) -> None:
    """However many files there may be."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert options.connections_for(1) == options.MOST_CONNECTIONS


async def test_a_tls_connection_ends_with_its_age_and_its_call_does_not(tmp_path: Path) -> None:
    """The client connects anew for the next call; what is in flight is answered on the old connection."""
    authority, echo = TlsAuthority(), Echo(gate=asyncio.Event())
    server = server_of(tcp_listener(tls=authority.files(tmp_path)), echo=echo, max_connection_age_seconds=1.0)
    await server.start()
    async with channel(server.addresses["tcp"], authority.trusted()) as opened:
        say = opened.unary_unary(METHOD)
        call = asyncio.ensure_future(say(b"long", timeout=10))
        await until(lambda: echo.started == [b"long"])
        # Ten per cent of chance are in the age.
        await asyncio.wait_for(opened.wait_for_state_change(grpc.ChannelConnectivity.READY), 3)
        assert echo.gate is not None
        echo.gate.set()
        assert await call == b"long"
        assert await say(b"next", timeout=10) == b"next"
    await server.stop()


def test_only_tls_connections_age(tmp_path: Path) -> None:
    """Nothing that was shown can be taken back on the others; a call in flight has the time that any call has."""
    settings = ServerSettings(max_connection_age_seconds=7, max_call_seconds=9000)
    tls = tcp_listener(tls=TlsAuthority().files(tmp_path))
    names = {"grpc.max_connection_age_ms": 7000, "grpc.max_connection_age_grace_ms": 9_000_000}
    assert names.items() <= dict(options.options_for(tls, settings, 1)).items()
    for listener in (tcp_listener(), socket_listener(tmp_path)):
        assert not names.keys() & dict(options.options_for(listener, settings, 1)).keys()


def test_every_call_that_finds_no_place_can_still_be_told_so() -> None:
    """The transport takes in more than the gateway has places."""
    assert options.requests_for(1000) == 2256
    assert options.requests_for(1) > 1
