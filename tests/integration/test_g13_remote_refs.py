"""G13: a tool's schema names a URL, and whoever validates by it fetches that URL from inside the network. Nobody does
here: not who reviews, not the registry, not a call.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.engine import FakeEngine
from fakes.mcp_sessions import FakeSession, FakeSessions, published, said
from fakes.served import asked, channel_to, settings_in

from adapters.base import Invocation, Target
from adapters.mcp_upstream.adapter import McpUpstreamAdapter
from adapters.mcp_upstream.pins import pin_of
from gateway.app import build_gateway
from gateway.arguments.schema import compile_schema
from gateway.clock import SystemClock
from gateway.registry.loader import load_registry
from gateway.settings.load import Settings
from gateway.v1 import tool_service_pb2_grpc as rpc

Schema = dict[str, Any]
GOOD: Schema = {
    "type": "object",
    "properties": {"to": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}


@dataclass
class Stub:
    """Somebody on loopback who counts whoever connects."""

    port: int = 0
    hits: int = 0

    async def serve(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer with a schema that lets everything through."""
        self.hits += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    @property
    def url(self) -> str:
        """Of the schema."""
        return f"http://127.0.0.1:{self.port}/x.json"


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    """One that listens."""
    one = Stub()
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    async with server:
        yield one


def _with(**more: Any) -> Callable[[str], Schema]:
    def make(url: str) -> Schema:
        written = orjson.dumps({**copy.deepcopy(GOOD), **more})
        return dict(orjson.loads(written.replace(b"URL", url.encode())))

    return make


POISONED = {
    "$ref": _with(**{"$ref": "URL"}),
    "$ref below": _with(properties={"to": {"$ref": "URL#/definitions/a"}}),
    "$id": _with(**{"$id": "URL"}),
    "$id below": _with(properties={"to": {"type": "string", "$id": "URL"}}),
    "$id and a reference into it": _with(**{"$id": "URL", "properties": {"to": {"$ref": "y.json"}}}),
    "$schema": _with(**{"$schema": "URL"}),
    "$dynamicRef": _with(properties={"to": {"$dynamicRef": "URL#a"}}),
}
each_schema = pytest.mark.parametrize("make", POISONED.values(), ids=POISONED.keys())


def row(input_schema: Schema, tool: Mapping[str, Any], output_schema: Schema | None = None) -> dict[str, Any]:
    """A tool with this schema, which accepts what the upstream publishes."""
    return {
        "name": "mail_send",
        "description": "Sends an e-mail.",
        "input_schema": input_schema,
        **({} if output_schema is None else {"output_schema": output_schema}),
        "requires": [],
        "side_effect": "read",
        "surfaces": ["grpc"],
        "binding": {
            "adapter": "mcp_upstream",
            "operation": "call",
            "connection": "mail",
            "options": {"tool": tool["name"], "pin": pin_of(tool)},
        },
    }


def registry(tool_row: dict[str, Any]) -> dict[str, Any]:
    """Rows of this tool, which one agent has."""
    return {
        "tools": [tool_row],
        "connections": [{"name": "mail", "tenant": "acme", "vendor": "mcp_upstream"}],
        "agents": [{"name": "helper", "tenant": "acme", "tools": ["mail_send"]}],
    }


def adapter_over(*tools: Mapping[str, Any]) -> tuple[McpUpstreamAdapter, FakeSession]:
    """An adapter whose server lists these tools."""
    session = FakeSession(tools_list=tools, answer=lambda _name, _arguments: said(structuredContent={"id": "1"}))
    return McpUpstreamAdapter(FakeSessions({"mail": session}), SystemClock(), lambda _target: []), session


@each_schema
@pytest.mark.parametrize("member", ["inputSchema", "outputSchema"])
async def test_g13_who_reviews_is_told_and_fetches_nothing(
    make: Callable[[str], Schema], member: str, stub: Stub
) -> None:
    """No tool can be made of such an offer."""
    adapter, _ = adapter_over(published(**{member: make(stub.url)}))
    target = Target(name="mail", account="acme/mail")
    now = SystemClock().monotonic()
    asking = Invocation(arguments={}, target=target, credential=None, deadline=now + 5, effect_id="review")
    (offer,) = await adapter.offers(asking)
    assert offer.problems
    assert "$" in " ".join(offer.problems)
    assert stub.hits == 0


@each_schema
@pytest.mark.parametrize("which", ["input", "output"])
async def test_g13_the_registry_refuses_the_row_and_fetches_nothing(
    make: Callable[[str], Schema], which: str, stub: Stub, tmp_path: Path
) -> None:
    """Whoever wrote it."""
    tool, poisoned = published(), make(stub.url)
    tool_row = row(poisoned, tool) if which == "input" else row(GOOD, tool, poisoned)
    file = tmp_path / "rows.json"
    file.write_bytes(orjson.dumps(registry(tool_row)))
    adapter, _ = adapter_over(tool)
    loaded = await asyncio.to_thread(
        load_registry, [file], adapters={adapter.name: adapter}, settings=Settings(), compile_schema=compile_schema
    )
    assert loaded.catalogue is None
    assert {problem.rule for problem in loaded.problems} & {"remote_ref", "dialect"}
    assert stub.hits == 0


async def test_g13_a_call_fetches_nothing(stub: Stub, tmp_path: Path) -> None:
    """Not even of a tool whose upstream schema names a URL, and which somebody has accepted all the same."""
    schemas = {member: POISONED["$ref"](stub.url) for member in ("inputSchema", "outputSchema")}
    tool = published(**schemas)
    adapter, session = adapter_over(tool)
    output = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    settings = settings_in(tmp_path, registry(row(GOOD, tool, output)))
    gateway = build_gateway(settings, adapters={adapter.name: adapter}, engine=FakeEngine())
    await gateway.start()
    try:
        async with channel_to(gateway.describe().listeners[0].address) as channel:
            call = rpc.ToolServiceStub(channel).CallTool
            good = await call(asked("mail_send", '{"to":"ann"}'), timeout=20)
            bad = await call(asked("mail_send", '{"to":7}'), timeout=20)
    finally:
        await gateway.stop()
    assert orjson.loads(good.result.structured_json) == {"id": "1"}
    assert bad.HasField("error")
    assert (len(session.calls), stub.hits) == (1, 0)
