"""An MCP server without a wire: what it publishes and answers is what a test says."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, SideEffect, Target
from adapters.mcp_upstream.adapter import McpUpstreamAdapter
from adapters.mcp_upstream.base import Progress, Server
from adapters.mcp_upstream.pins import pin_of
from adapters.recipes import Recipe
from fakes.clock import FakeClock

Tool = Mapping[str, Any]
Result = Mapping[str, Any]


def published(name: str = "send_email", **more: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
    return {"name": name, "description": "Sends an e-mail.", "inputSchema": schema, **more}


def said(text: str = "done", **more: Any) -> dict[str, Any]:
    """A result of one text."""
    return {"content": [{"type": "text", "text": text}], **more}


@dataclass(eq=False)
class FakeSession:
    """A conversation. `tools_list` and `answer` may be replaced at any time; a list waits while `listing` is clear."""

    tools_list: Sequence[Tool] = ()
    answer: Callable[[str, Mapping[str, Any]], Result] = lambda _name, _arguments: said()
    server: Server = field(default_factory=lambda: Server(name="mail", version="1.0", protocol="2025-11-25"))
    tools_changed: int = 0
    told: Sequence[tuple[float, float | None]] = ()
    """Progress that every call tells."""
    trouble: AdapterError | None = None
    """What every list and every call ends in."""
    before_call: Callable[[], None] = lambda: None
    """Runs when a call comes. What it raises, the call ends in."""
    listing: asyncio.Event = field(default_factory=asyncio.Event)
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    lists: int = 0
    lists_at_once: int = 0
    most_lists_at_once: int = 0
    deadlines: list[float] = field(default_factory=list)
    """Of lists."""
    calls: list[tuple[str, Mapping[str, Any], bool]] = field(default_factory=list)
    """Name, arguments, and whether it has an effect."""

    def __post_init__(self) -> None:
        self.listing.set()

    async def tools(self, deadline: float) -> Sequence[Tool]:
        """What `tools_list` is when the list begins."""
        self.lists += 1
        self.lists_at_once += 1
        self.most_lists_at_once = max(self.most_lists_at_once, self.lists_at_once)
        self.deadlines.append(deadline)
        found = list(self.tools_list)
        try:
            self.looked.set()
            await self.listing.wait()
        finally:
            self.lists_at_once -= 1
        if self.trouble is not None:
            raise self.trouble
        return found

    async def call(
        self, name: str, arguments: Mapping[str, Any], _deadline: float, progress: Progress, *, has_effect: bool
    ) -> Result:
        """What `answer` says."""
        self.before_call()
        self.calls.append((name, arguments, has_effect))
        for done, total in self.told:
            progress(done, total)
        if self.trouble is not None:
            raise self.trouble
        return self.answer(name, arguments)


@dataclass
class FakeSessions:
    """By the connection's name. One that is not there cannot be reached."""

    sessions: dict[str, FakeSession] = field(default_factory=dict)
    open_circuits: int = 0
    closed: int = 0

    async def of(self, invocation: Invocation) -> FakeSession:
        """The session that a test put there, now."""
        session = self.sessions.get(invocation.target.name)
        if session is None:
            message = "The upstream server cannot be connected to; try again later."
            raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO)
        return session

    async def close(self) -> None:
        """Count it."""
        self.closed += 1


def recipe_of(tool: Tool, *, side_effect: SideEffect = SideEffect.READ, **more: Any) -> Recipe:
    """A row that has accepted a tool as it is published now."""
    options = {"tool": tool["name"], "pin": pin_of(tool), **more.pop("options", {})}
    usual: dict[str, Any] = {
        "tool": "mail_send",
        "operation": "call",
        "side_effect": side_effect,
        "options": options,
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}, "additionalProperties": False},
        "output_schema": None,
    }
    return Recipe(**{**usual, **more})


@dataclass
class Upstream:
    """An adapter over sessions of a test, and what it takes to call it."""

    sessions: FakeSessions = field(default_factory=FakeSessions)
    clock: FakeClock = field(default_factory=FakeClock)
    progress: list[tuple[float, float | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.adapter = McpUpstreamAdapter(self.sessions, self.clock, lambda _target: [])

    def invocation(self, arguments: dict[str, Any], connection: str = "mail", seconds: float = 5.0) -> Invocation:
        """An attempt for one connection."""
        return Invocation(
            arguments=arguments,
            target=Target(name=connection, account=f"acme/{connection}"),
            credential=None,
            deadline=self.clock.monotonic() + seconds,
            effect_id="eff-1",
            progress=lambda done, total: self.progress.append((done, total)),
        )

    async def call(self, recipe: Recipe, connection: str = "mail", seconds: float = 5.0, **arguments: Any) -> Any:
        """Make, prepare and carry out."""
        operation = self.adapter.make(recipe)
        prepared = operation.prepare(arguments or {"to": "ann@corp.example"})
        return await operation.invoke(self.invocation(prepared, connection, seconds))


def upstream(*tools: Tool, name: str = "mail") -> tuple[Upstream, FakeSession]:
    """An adapter over one server with these tools."""
    session = FakeSession(tools_list=tools)
    return Upstream(FakeSessions({name: session})), session
