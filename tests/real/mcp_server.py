"""An MCP server as its authors' SDK has people write one, for version 1 and version 2 of it: `mcp_server.py PORT`
listens on loopback for streamable HTTP, and `mcp_server.py` alone speaks by its input and output.
"""

import asyncio
import sys
from typing import Any, TypedDict

try:
    from mcp.server.mcpserver import Context, MCPServer

    MAJOR = 2
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

    MAJOR = 1

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 0
WHERE: dict[str, Any] = {"host": "127.0.0.1", "port": PORT}
server = MCPServer("notes", **(WHERE if MAJOR == 1 else {}))
notes: list[str] = []
cancelled: list[str] = []


class Counted(TypedDict):
    """How many notes there are."""

    notes: int
    longest: int


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def write_note(text: str) -> str:
    """Writes a note down."""
    notes.append(text)
    return f"note {len(notes)}"


@server.tool()
def count_notes() -> Counted:
    """Counts the notes."""
    return {"notes": len(notes), "longest": max(map(len, notes), default=0)}


@server.tool()
def fail(why: str) -> str:
    """Fails."""
    raise ValueError(why)


@server.tool()
async def wait(name: str, steps: int, ctx: Context) -> str:
    """Takes a step each twentieth of a second, and says so."""
    try:
        for step in range(1, steps + 1):
            await asyncio.sleep(0.05)
            await ctx.report_progress(step, steps)
    except asyncio.CancelledError:
        cancelled.append(name)
        raise
    return f"{steps} steps"


@server.tool()
def was_cancelled(name: str) -> bool:
    """Whether somebody cancelled a wait of this name."""
    return name in cancelled


@server.tool()
async def change(ctx: Context) -> str:
    """Describes `add` otherwise from now on, and says that the tools changed."""

    def again(a: int, b: int) -> int:
        return a * b

    server.remove_tool("add")
    server.add_tool(again, name="add", description="Multiplies two numbers.")
    await ctx.session.send_tool_list_changed()
    return "changed"


if __name__ == "__main__":
    if not PORT:
        server.run("stdio")
    elif MAJOR == 1:
        server.run("streamable-http")
    else:
        server.run("streamable-http", **WHERE)
