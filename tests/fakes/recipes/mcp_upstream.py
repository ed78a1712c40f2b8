"""Rows of `mcp_upstream`: one that reads and one that sends, over both revisions of the protocol."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from adapters.base import SideEffect, Target
from adapters.mcp_upstream.pins import pin_of
from adapters.recipes import Recipe
from fakes.mcp_real import build
from fakes.mcp_server import FLOOD, MODERN, Break, McpServer, Message, error, open_mcp_server, said
from fakes.recipes.base import UPSTREAM_WORDS, BadOptions, RecipeCase, Trouble
from gateway.clock import SystemClock

TOOL: Mapping[str, Any] = {
    "name": "send_email",
    "description": f"Sends an e-mail. {UPSTREAM_WORDS}",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "tags": {"type": "array"}}},
    "annotations": {"readOnlyHint": True},
}
ARGUMENTS: Mapping[str, Any] = {"to": "ann@corp.example", "tags": ["a", "b"]}
PIN = pin_of(TOOL)


@dataclass(frozen=True)
class Mailer:
    """A server, each of whose `tools/call` is the call itself."""

    server: McpServer

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server.target.rpartition(":")[2])

    @property
    def calls(self) -> int:
        """How many have been read."""
        return self.server.methods().count("tools/call")

    async def came(self) -> None:
        """Return once the first has been read."""
        await self.server.wait_for("tools/call")


@asynccontextmanager
async def mailer(trouble: Trouble, **fields: Any) -> AsyncIterator[Mailer]:
    """One that keeps to its trouble."""
    async with open_mcp_server(tools=[dict(TOOL)], **fields) as server:
        vars(server)["_send_email"] = partial(_sent, server, trouble)
        yield Mailer(server)


async def _sent(  # noqa: C901 - a line for each trouble
    server: McpServer, trouble: Trouble, message: Message, given: Message
) -> AsyncIterator[Message | bytes]:
    match trouble:
        case Trouble.NONE:
            yield said(message, f"sent to {given['to']}")
        case Trouble.RESET:
            raise Break
        case Trouble.HANGS:
            await asyncio.Event().wait()
        case Trouble.FAULT:
            yield _worded(error(message, -32603), UPSTREAM_WORDS)
        case Trouble.GARBAGE:
            yield f"data: <html>{UPSTREAM_WORDS}\n\n".encode()
        case Trouble.TOO_LARGE:
            yield b'data: {"jsonrpc": "2.0", "id": 1, "result": {"x": "'
            while True:
                yield FLOOD
        case Trouble.REFUSES:
            yield _worded(error(message, -32602), f"{UPSTREAM_WORDS} {json.dumps([message, server.seen[-1]])}")


def _worded(answer: Message, words: str) -> Message:
    answer["error"]["message"] = words
    answer["error"]["data"] = {"said": words}
    return answer


def target(port: int, **options: Any) -> Target:
    """A connection to a server on loopback."""
    base = {"url": f"http://127.0.0.1:{port}/mcp"}
    return Target(name="mail", account="acme/mail", hosts=(f"127.0.0.1:{port}",), options={**base, **options})


def recipe(side_effect: SideEffect, **options: Any) -> Recipe:
    """A row that has accepted the tool."""
    return Recipe(
        tool="mail_send",
        operation="call",
        side_effect=side_effect,
        options={"tool": TOOL["name"], "pin": PIN, **options},
        input_schema={
            "type": "object",
            "properties": {"to": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
            "required": ["to"],
            "additionalProperties": False,
        },
        output_schema=None,
    )


BAD = (
    BadOptions(options={}, pointers=frozenset({"/tool", "/pin"})),
    BadOptions(
        options={"tool": "send\u200b_email", "pin": PIN[:-1], "server": "", "host": "evil.test"},
        pointers=frozenset({"/tool", "/pin", "/server", "/host"}),
    ),
    BadOptions(options={"tool": "send_email", "pin": PIN.upper()}, pointers=frozenset({"/pin"})),
)


def _case(name: str, side_effect: SideEffect, credential: str | None, **fields: Any) -> RecipeCase:
    return RecipeCase(
        name=f"mcp_upstream.{name}",
        build=build,
        recipe=recipe(side_effect, server="fake"),
        arguments=ARGUMENTS,
        target=target,
        upstream=partial(mailer, **fields),
        bad=BAD if name == "send" else (),
        credential=credential,
        clock=SystemClock,  # sessions are swept by a task that sleeps: time that passes by itself would not stop
    )


CASES = (
    _case("read", SideEffect.READ, None),
    _case("send", SideEffect.SEND, None),
    _case("send_modern", SideEffect.SEND, None, is_modern=True, protocol=MODERN),
)
