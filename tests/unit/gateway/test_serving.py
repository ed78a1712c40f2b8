"""A listener serves what its settings name, and nothing else."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import grpc.aio
import pytest
from fakes.served import channel_to, served, socket_listener

from gateway.settings.listeners import CONTROL_SERVICES, FixedIdentity, Listener, Service

METHODS = {
    Service.TOOL: "/gateway.v1.ToolService/ListTools",
    Service.APPROVAL: "/gateway.v1.ApprovalService/ListApprovals",
    Service.REGISTRY: "/gateway.v1.RegistryService/ListRows",
    Service.RUN: "/gateway.v1.RunService/GetRun",
    Service.CALL: "/gateway.v1.CallService/ListUnresolved",
}


def _control(folder: Path, service: Service) -> Listener:
    person = FixedIdentity(kind="fixed", tenant="acme", principal="ann", principal_kind="human", roles=("approver",))
    return Listener(name="control", address=f"unix:{folder / 'c.sock'}", services=(service,), identity=person)


@contextlib.asynccontextmanager
async def _channel(folder: Path, service: Service) -> AsyncIterator[grpc.aio.Channel]:
    """To a listener that serves this alone."""
    listeners = (socket_listener(folder), *([_control(folder, service)] if service in CONTROL_SERVICES else []))
    async with served(folder, listeners=listeners) as one, channel_to(one.address(len(listeners) - 1)) as channel:
        yield channel


async def _is_served(channel: grpc.aio.Channel, method: str) -> bool:
    """Whether anybody answers, whatever it is."""
    try:
        await channel.unary_unary(method)(b"", timeout=20)
    except grpc.aio.AioRpcError as error:
        return error.code() is not grpc.StatusCode.UNIMPLEMENTED
    return True


@pytest.mark.parametrize("service", METHODS)
async def test_a_listener_serves_what_it_names(tmp_path: Path, service: Service) -> None:
    """What another listener serves is not implemented there."""
    async with _channel(tmp_path, service) as channel:
        for other, method in METHODS.items():
            assert await _is_served(channel, method) == (other is service), method


async def test_handles_are_served_with_the_tools(tmp_path: Path) -> None:
    """On the agents' own listener."""
    async with _channel(tmp_path, Service.TOOL) as channel:
        for method in ("GetCall", "CancelCall", "ReadArtifact"):
            assert await _is_served(channel, f"/gateway.v1.ToolService/{method}")
