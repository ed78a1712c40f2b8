"""A tool that changed behind a running gateway, from the first refusal to the call that somebody has accepted."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.engine import FakeEngine
from fakes.mcp_real import build
from fakes.mcp_server import McpServer, open_mcp_server, tool
from fakes.served import asked, channel_to, settings_in

from adapters.mcp_upstream.pins import pin_of
from gateway.app import Gateway, build_gateway
from gateway.cli.manifests import written
from gateway.cli.root import run
from gateway.clock import SystemClock
from gateway.settings.parts import RegistrySettings
from gateway.v1 import codes_pb2 as codes
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc

IDENTITY = {"kind": "fixed", "tenant": "acme", "agent": "helper", "principal": "x"}
LISTENER = {"listeners": [{"name": "agent", "address": "unix:g.sock", "identity": IDENTITY}]}
"""Settings have to have one, and a review does not listen."""


def _rows(server: McpServer) -> list[tuple[str, dict[str, Any]]]:
    listed = server.tools[0]
    row = {
        "name": "say",
        "description": "Says it.",
        "input_schema": {
            "type": "object",
            "properties": {"text": {"type": "string", "maxLength": 100}},
            "additionalProperties": False,
        },
        "requires": [],
        "side_effect": "write",
        "idempotency": "optional",
        "surfaces": ["grpc"],
        "binding": {
            "adapter": "mcp_upstream",
            "operation": "call",
            "connection": "up",
            "options": {"tool": listed["name"], "pin": pin_of(listed), "server": server.name},
        },
    }
    connection = {
        "name": "up",
        "tenant": "acme",
        "vendor": "mcp_upstream",
        "hosts": [server.target],
        "options": {"url": server.url},
    }
    return [
        ("connection", connection),
        ("tool", row),
        ("agent", {"name": "helper", "tenant": "acme", "tools": ["say"]}),
    ]


def _offers_otherwise(server: McpServer) -> None:
    bounded = {"type": "object", "properties": {"text": {"type": "string", "maxLength": 50}}}
    server.tools = [tool("echo", description="Does echo, and no more.", inputSchema=bounded)]


def _calls_itself_otherwise(server: McpServer) -> None:
    server.name = "other"


@dataclass
class Reviewed:
    """A gateway before a server, and whoever reviews what that offers."""

    server: McpServer
    gateway: Gateway
    folder: Path
    stub: Any
    capsys: pytest.CaptureFixture[str]

    async def call(self, arguments: str = '{"text": "hi"}') -> pb.CallToolResponse:
        """CallTool."""
        response: pb.CallToolResponse = await self.stub.CallTool(asked("say", arguments), timeout=20)
        return response

    async def review(self, *options: str) -> tuple[int, str]:
        """The exit code, and how the tool stands."""
        config, rows = self.folder / "review.yaml", self.folder / "rows.yaml"
        words = ["registry", "review", str(rows), "--config", str(config), "--json", *options]
        self.capsys.readouterr()
        code = await asyncio.to_thread(run, words)
        printed = self.capsys.readouterr()
        assert printed.err == ""
        return code, json.loads(printed.out)["findings"][0]["standing"]


@pytest.fixture
async def reviewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AsyncIterator[Reviewed]:
    """They run."""
    async with open_mcp_server(tools=[tool("echo")]) as server:
        manifest = tmp_path / "rows.yaml"
        manifest.write_text(written(_rows(server)))
        (tmp_path / "review.yaml").write_text(json.dumps({"network": {"private_targets": [server.target]}, **LISTENER}))
        adapter = build(SystemClock(), int(server.target.rpartition(":")[2]))
        settings = settings_in(tmp_path, registry=RegistrySettings(paths=(manifest,), reload_seconds=0))
        gateway = build_gateway(settings, adapters={adapter.name: adapter}, engine=FakeEngine())
        await gateway.start()
        try:
            async with channel_to(gateway.describe().listeners[0].address) as channel:
                yield Reviewed(server, gateway, tmp_path, rpc.ToolServiceStub(channel), capsys)
        finally:
            await gateway.stop()


@pytest.mark.parametrize("change", [_offers_otherwise, _calls_itself_otherwise])
@pytest.mark.parametrize("pin_only", [[], ["--pin-only"]])
async def test_what_changed_is_called_again_once_somebody_has_accepted_it(
    reviewed: Reviewed, change: Callable[[McpServer], None], pin_only: list[str]
) -> None:
    """Under a new version of its row, which a running gateway takes over."""
    assert (await reviewed.call()).HasField("result")
    assert await reviewed.review() == (0, "accepted")
    change(reviewed.server)
    reviewed.server.session_id = "s-2"  # it was started anew
    assert (await reviewed.call()).error.reason == codes.REASON_UPSTREAM_CHANGED
    assert await reviewed.review() == (1, "changed")
    assert (await reviewed.call()).error.reason == codes.REASON_UPSTREAM_CHANGED
    assert await reviewed.review("--accept", "say", *pin_only) == (0, "accepted")
    assert await reviewed.gateway.reload() == ()
    answer = await reviewed.call()
    assert orjson.loads(answer.result.content[0].text.text) == {"text": "hi"}
    is_long_refused = (await reviewed.call(json.dumps({"text": "x" * 60}))).HasField("error")
    assert is_long_refused is (change is _offers_otherwise and not pin_only)
