"""Slack behind a whole gateway: what an agent's runtime sees, and what Slack does."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.cases.slack import CHANNEL, POSTED
from fakes.engine import FakeEngine
from fakes.served import Served, identity, served, socket_listener
from fakes.vendor import Answer, Said, VendorServer, vendor_server

from gateway.settings.parts import CredentialGrant, NetworkSettings
from gateway.v1 import codes_pb2

TOKEN = "xoxb-3f9c2a7e51d84b06"
SCOPES = ("slack:read", "slack:write")
POST = json.dumps({"channel": CHANNEL, "text": "Hello"})


def rows(server: VendorServer, timeout_ms: int) -> dict[str, Any]:
    """The rows that the adapter brings, with this timeout, and a connection that leads to the server."""
    tools = yaml.safe_load(files("adapters.slack").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    connection = {
        "name": "slack",
        "tenant": "acme",
        "vendor": "slack",
        "hosts": [f"127.0.0.1:{server.port}"],
        "options": {"base_url": server.url},
        "credential": "env:SLACK_TOKEN",
    }
    names = [tool["name"] for tool in tools]
    agent = {"name": "helper", "tenant": "acme", "tools": names, "scopes": list(SCOPES), "roles": ["assistant"]}
    changed = [{**tool, "timeout_ms": timeout_ms} for tool in tools]
    return {"tools": changed, "connections": [connection], "agents": [agent]}


@asynccontextmanager
async def gateway(
    folder: Path, answer: Answer | Said, *, timeout_ms: int = 15_000, engine: FakeEngine | None = None
) -> AsyncIterator[tuple[Served, VendorServer]]:
    """A gateway whose agent has Slack, and a Slack that answers so."""
    async with vendor_server(answer) as server:
        here = f"127.0.0.1:{server.port}"
        parts: dict[str, Any] = {
            "rows": rows(server, timeout_ms),
            "listeners": (socket_listener(folder, identity=identity(scopes=SCOPES)),),
            "network": NetworkSettings(private_targets=(here,)),
            "credentials": (CredentialGrant(tenant="acme", references=("env:SLACK_TOKEN",), hosts=(here,)),),
        }
        async with served(folder, engine=engine, **parts) as one:
            yield one, server


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_TOKEN", TOKEN)


async def test_g18_an_agent_is_told_what_slack_did_not_do(tmp_path: Path) -> None:
    """In a code of ours, with nothing of Slack's; and the same key may be used again."""
    said = [Said({"ok": False, "error": "not_in_channel"}), Said(POSTED)]
    async with gateway(tmp_path, lambda _asked: said.pop(0)) as (one, _):
        first = await one.call("slack_post_message", POST, key="k")
        second = await one.call("slack_post_message", POST, key="k")
    assert first.error.code == codes_pb2.CODE_PERMISSION_DENIED
    assert "not_in_channel" not in first.error.message
    assert "invite" in first.error.message
    assert json.loads(second.result.structured_json) == {"channel": CHANNEL, "ts": POSTED["ts"]}


async def test_policy_judges_whom_a_message_calls(tmp_path: Path) -> None:
    """It sees the text as Slack gets it, and the mentions beside it."""
    arguments = {"channel": CHANNEL, "text": "<!everyone> look", "mentions": ["here"]}
    engine = FakeEngine()
    async with gateway(tmp_path, Said(POSTED), engine=engine) as (one, server):
        await one.call("slack_post_message", json.dumps(arguments), key="k")
    judged = json.loads(engine.documents[-1])["arguments"]
    assert (judged["text"], judged["is_channel_wide"]) == ("<!here> &lt;!everyone&gt; look", True)
    assert server.asked[0].form["text"] == judged["text"]
