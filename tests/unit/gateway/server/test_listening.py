"""Listeners that serve what they name, and a drain that lets calls in flight finish."""

import asyncio
from pathlib import Path

import grpc
import grpc.aio
import pytest
from fakes.audit import until
from fakes.echo import METHOD, Echo, channel, said, server_of, tcp_listener
from fakes.served import socket_listener

from gateway.errors import StartError
from gateway.server.listening import Server


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
