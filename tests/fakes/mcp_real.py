"""The adapter with sessions of its own, before servers that run."""

import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from real.mcp import NOBODY, Address, Program

from adapters.base import Clock, Target
from adapters.mcp_upstream.adapter import McpUpstreamAdapter
from adapters.mcp_upstream.launching import Command
from adapters.mcp_upstream.sessions import UpstreamSessions
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.guard import Guard
from adapters.transport.resolver import SystemResolver


def build(clock: Clock, port: int, commands: Mapping[str, Command] | None = None) -> McpUpstreamAdapter:
    """One that may connect to this port of loopback, and start these commands."""
    transport = Transport(
        clock=clock,
        random=random.random,
        guard=Guard.of([f"127.0.0.1:{port}"]),
        resolver=SystemResolver(),
        breaker=Breaker(clock),
    )
    sessions = UpstreamSessions(transport=transport, clock=clock, commands=commands or {})
    return McpUpstreamAdapter(sessions, clock, sessions.target_problems)


@asynccontextmanager
async def opened(server: Address | Program, clock: Clock) -> AsyncIterator[tuple[McpUpstreamAdapter, Target]]:
    """An adapter before this server, and the connection to it."""
    is_http = isinstance(server, Address)
    port = server.port if isinstance(server, Address) else 1
    commands = {} if isinstance(server, Address) else {"server": _command(server)}
    options = {"url": server.url} if isinstance(server, Address) else {"stdio": "server"}
    hosts = (f"127.0.0.1:{port}",) if is_http else ()
    target = Target(name="up", account="acme/up", hosts=hosts, options=options)
    adapter = build(clock, port, commands)
    assert adapter.check_target(target) == []
    try:
        yield adapter, target
    finally:
        await adapter.close()


def _command(server: Program) -> Command:
    user = NOBODY if os.geteuid() == 0 else None
    return Command(argv=tuple(server.command), uid=user, gid=user)
