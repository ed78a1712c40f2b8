"""The official client of MCP (version 2 of the SDK), run with what `pip/mcp_servers.txt` pins and with nothing of ours.

It reads `{"command": […]}` or `{"url": …}` with `"calls": [[NAME, ARGUMENTS], …]` from its input,
and prints what a server says to it: `{"server": …, "protocol": …, "tools": […], "digests": […], "results": […]}`, each
part as it came over the wire.
"""

import asyncio
import contextlib
import hashlib
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

PINNED = ("name", "title", "description", "inputSchema", "outputSchema")


@contextlib.asynccontextmanager
async def session_of(asked: dict[str, Any]) -> AsyncIterator[ClientSession]:
    """A session with the server that is asked for."""
    if "url" in asked:
        streams = streamable_http_client(asked["url"])
    else:
        command, *arguments = asked["command"]
        streams = stdio_client(StdioServerParameters(command=command, args=arguments))
    async with streams as (reading, writing, *_), ClientSession(reading, writing) as session:
        yield session


async def result_of(session: ClientSession, name: str, arguments: dict[str, Any]) -> Any:
    """What a call brings; an error by its code."""
    try:
        return raw(await session.call_tool(name, arguments))
    except MCPError as error:
        return {"error": error.error.code}


async def tools_of(session: ClientSession) -> list[Any]:
    """Every page of them."""
    tools, cursor = [], None
    while True:
        page = await session.list_tools(cursor=cursor) if cursor else await session.list_tools()
        tools += [raw(tool) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            return tools


def raw(message: Any) -> Any:
    """As it came."""
    return message.model_dump(by_alias=True, exclude_unset=True, mode="json")


def digest(tool: dict[str, Any]) -> str:
    """Of what is pinned, by what Python has for it."""
    pinned = {key: tool[key] for key in PINNED if key in tool}
    written = json.dumps(pinned, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


async def main() -> None:
    """Ask and print."""
    asked = json.load(sys.stdin)
    async with session_of(asked) as session:
        greeting = await session.initialize()
        tools = await tools_of(session)
        said = {
            "server": greeting.server_info.name,
            "protocol": greeting.protocol_version,
            "tools": tools,
            "digests": [digest(tool) for tool in tools],
            "results": [await result_of(session, name, arguments) for name, arguments in asked["calls"]],
        }
    print(json.dumps(said))  # noqa: T201 - it is what it is run for


if __name__ == "__main__":
    asyncio.run(main())
