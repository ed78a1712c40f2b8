"""A whole gateway in this process, over a fake vendor, called by gRPC as an agent's runtime does."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
import orjson
from real.stores import copy_template

from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.path import GRANT, registry_rows
from gateway.app import Gateway, build_gateway
from gateway.audit.files import Directory
from gateway.audit.open import audit_directory
from gateway.audit.reading import lines_after
from gateway.policy.base import Engine
from gateway.settings.listeners import FixedIdentity, Listener
from gateway.settings.load import Settings
from gateway.settings.parts import RegistrySettings
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc

SCOPES = ("test:read", "test:write")
LARGEST = 16 * 1024 * 1024


def identity(**changes: Any) -> FixedIdentity:
    """The agent of these tests."""
    usual: dict[str, Any] = {
        "kind": "fixed",
        "tenant": "acme",
        "agent": "helper",
        "principal": "helper-1",
        "scopes": SCOPES,
        "roles": ("assistant",),
    }
    return FixedIdentity(**{**usual, **changes})


def socket_listener(folder: Path, **changes: Any) -> Listener:
    """A listener on a socket in the folder."""
    usual: dict[str, Any] = {"name": "agent", "address": f"unix:{folder / 'g.sock'}", "identity": identity()}
    return Listener(**{**usual, **changes})


def settings_in(folder: Path, rows: dict[str, Any] | None = None, **changes: Any) -> Settings:
    """Settings of a gateway whose state, rows and socket are in the folder."""
    registry = folder / "rows.json"
    registry.write_bytes(orjson.dumps(rows or registry_rows()))
    usual: dict[str, Any] = {
        "state_dir": folder / "state",
        "listeners": (socket_listener(folder),),
        "registry": RegistrySettings(paths=(registry,)),
        "credentials": (GRANT,),
        "log_level": "error",
    }
    settings = Settings(**{**usual, **changes})
    if settings.store is None and not settings.database.path.exists():
        copy_template(settings.database.path)  # a gateway would make it, which takes half a second
    return settings


def lines_in(folder: Path) -> list[dict[str, Any]]:
    """Every audit line of the gateway in the folder, oldest first."""
    files = Directory(audit_directory(folder / "state"))
    try:
        return list(lines_after(files, 0))
    finally:
        files.close()


def channel_to(address: str, *options: tuple[str, Any]) -> grpc.aio.Channel:
    """A channel without the client's own bounds on sizes."""
    sizes = (("grpc.max_receive_message_length", LARGEST), ("grpc.max_send_message_length", LARGEST))
    return grpc.aio.insecure_channel(address, options=(*sizes, *options))


def asked(tool: str = "echo", arguments: str | bytes = '{"text":"hi"}', **more: Any) -> pb.CallToolRequest:
    """A CallTool request; `key` is the idempotency key."""
    raw = arguments if isinstance(arguments, bytes) else arguments.encode()
    return pb.CallToolRequest(tool=tool, arguments_json=raw, idempotency_key=more.pop("key", ""), **more)


@dataclass
class Served:
    """A gateway that runs, and a channel to its first listener."""

    folder: Path
    gateway: Gateway
    adapter: FakeAdapter
    channel: grpc.aio.Channel
    stub: Any

    async def call(self, *arguments: Any, **more: Any) -> pb.CallToolResponse:
        """CallTool."""
        response: pb.CallToolResponse = await self.stub.CallTool(asked(*arguments, **more), timeout=20)
        return response

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every audit line."""
        return lines_in(self.folder)

    @property
    def effects(self) -> int:
        """How often the vendor was asked."""
        return len(self.adapter.invocations)

    def address(self, listener: int = 0) -> str:
        """Where it listens, with the real port."""
        return self.gateway.describe().listeners[listener].address


@asynccontextmanager
async def served(
    folder: Path,
    *,
    adapter: FakeAdapter | None = None,
    engine: Engine | None = None,
    options: Sequence[tuple[str, Any]] = (),
    **changes: Any,
) -> AsyncIterator[Served]:
    """A gateway over this adapter and engine (one that allows everything when left out)."""
    adapter = adapter or FakeAdapter()
    settings = settings_in(folder, **changes)
    gateway = build_gateway(settings, adapters={"fake": adapter}, engine=engine or FakeEngine())
    await gateway.start()
    try:
        async with channel_to(gateway.describe().listeners[0].address, *options) as channel:
            yield Served(folder, gateway, adapter, channel, rpc.ToolServiceStub(channel))
    finally:
        await gateway.stop()
