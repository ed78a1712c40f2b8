"""The wire side of `mcp_upstream` against `McpServer`: sessions, invocations, commands."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Invocation, Secret, Target
from adapters.mcp_upstream.base import Session
from adapters.mcp_upstream.launching import Command
from adapters.mcp_upstream.sessions import UpstreamSessions
from fakes.clock import FakeClock
from fakes.mcp_server import stdio_command
from fakes.transport import open_transport

NOBODY = 65534


def command_of(**fields: Any) -> Command:
    """A fake server as a process, with a user of its own where that can be had."""
    user = NOBODY if os.geteuid() == 0 else None
    return Command(argv=stdio_command(**fields), uid=user, gid=user, folder="/tmp")


def unheard(_done: float, _total: float | None) -> None:
    """Progress of a call that nobody follows."""


@dataclass
class Reached:
    """Sessions with one server, and calls of it. Time stands still but for deadlines, which are real."""

    sessions: UpstreamSessions
    clock: FakeClock
    options: Mapping[str, Any]
    hosts: tuple[str, ...] = ()
    learned: list[Secret] = field(default_factory=list)

    def invocation(
        self,
        *,
        seconds: float = 5.0,
        secret: str = "",
        account: str = "acme/crm",
        assertion: Callable[[], Awaitable[Secret]] | None = None,
    ) -> Invocation:
        """An attempt. An `assertion` makes its target one with an audience."""
        audience = "" if assertion is None else "crm"
        more: dict[str, Any] = {} if assertion is None else {"assertion": assertion}
        return Invocation(
            arguments={},
            target=Target(name="crm", account=account, hosts=self.hosts, options=self.options, audience=audience),
            credential=Secret(secret) if secret else None,
            deadline=self.clock.monotonic() + seconds,
            effect_id="eff-1",
            **more,
        )

    async def of(self, **more: Any) -> Any:
        """The session for such an invocation."""
        return await self.sessions.of(self.invocation(**more))

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, seconds: float = 5.0, has_effect: bool = False
    ) -> Mapping[str, Any]:
        """A call from the beginning."""
        session: Session = await self.of()
        deadline = self.clock.monotonic() + seconds
        return await session.call(name, arguments or {}, deadline, unheard, has_effect=has_effect)


@asynccontextmanager
async def reaching(url: str, target: str, **more: Any) -> AsyncIterator[Reached]:
    """Sessions with a server over HTTP."""
    clock = FakeClock()
    async with open_transport(target, clock=clock, **more) as transport:
        sessions = UpstreamSessions(transport=transport, clock=clock, commands={})
        try:
            yield Reached(sessions, clock, {"url": url}, ("127.0.0.1",))
        finally:
            await sessions.close()


@asynccontextmanager
async def running(**fields: Any) -> AsyncIterator[Reached]:
    """Sessions with a server over stdio, whose `McpServer` has these fields."""
    clock = FakeClock()
    async with open_transport(clock=clock) as transport:
        sessions = UpstreamSessions(transport=transport, clock=clock, commands={"fake": command_of(**fields)})
        try:
            yield Reached(sessions, clock, {"stdio": "fake"})
        finally:
            await sessions.close()


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a result of one text."""
    return str(result["content"][0]["text"])


async def until(holds: Callable[[], bool]) -> None:
    """Return once this holds; the loop turns meanwhile."""
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)
