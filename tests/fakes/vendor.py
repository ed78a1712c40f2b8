"""A vendor's API that answers as a test says, and what it takes to ask it through an adapter."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from adapters.base import Adapter, Finding, Invocation, Output, Secret, Target
from adapters.installed import build_adapters
from fakes.clock import FakeClock

CREDENTIAL = "vnd-3f9c2a7e51d84b06"
NOW = 1_767_225_600.0
"""2026-01-01, when a `FakeClock` begins."""


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def form(self) -> Mapping[str, str]:
        """The body as a form."""
        return {name: values[0] for name, values in parse_qs(self.body.decode(), keep_blank_values=True).items()}


@dataclass(frozen=True)
class Said:
    """An answer: JSON, or bytes as they are. One that `hangs` never comes; one that is `cut` breaks the connection
    when the request has been read.
    """

    json: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hangs: bool = False
    cut: bool = False


Answer = Callable[[Asked], Said]


@dataclass
class VendorServer:
    """Every request is answered by `answer`, which may be replaced at any time, and kept in `asked`."""

    answer: Answer
    asked: list[Asked] = field(default_factory=list)
    port: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it is, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def effects(self) -> list[Asked]:
        """What may have changed something."""
        return [one for one in self.asked if one.method not in ("GET", "HEAD")]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """What aiohttp calls."""
        query = parse_qs(request.query_string, keep_blank_values=True)
        asked = Asked(request.method, request.path, query, dict(request.headers), await request.read())
        self.asked.append(asked)
        self.arrived.set()
        said = self.answer(asked)
        if said.hangs:
            await asyncio.Event().wait()
        if said.cut:
            assert request.transport is not None
            request.transport.abort()
        body = json.dumps(said.json).encode() if said.body is None else said.body
        kind = {} if "Content-Type" in said.headers else {"Content-Type": "application/json"}
        return web.Response(body=body, status=said.status, headers={**kind, **said.headers})


def saying(*answers: Said) -> Answer:
    """These answers in turn, and then the last one again and again."""
    left = list(answers)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]


@asynccontextmanager
async def vendor_server(answer: Answer | Said) -> AsyncIterator[VendorServer]:
    """A server on loopback. What it holds back ends with it."""
    server = VendorServer(saying(answer) if isinstance(answer, Said) else answer)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.05)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()


@dataclass
class Desk:
    """Where operations of installed adapters are asked for, against one address on loopback."""

    adapters: Mapping[str, Adapter]
    clock: FakeClock
    port: int
    path: str = ""
    """Of the base URL."""
    credential: str = CREDENTIAL
    options: Mapping[str, Any] = field(default_factory=dict)
    learned: list[str] = field(default_factory=list)
    """What adapters said is secret."""

    @property
    def target(self) -> Target:
        """The connection."""
        options = {"base_url": f"http://127.0.0.1:{self.port}{self.path}", **self.options}
        return Target(name="c", account="acme/c", hosts=(f"127.0.0.1:{self.port}",), options=options)

    async def ask(self, adapter: str, operation: str, arguments: dict[str, Any], **more: Any) -> Output:
        """Prepare and carry out."""
        one = self.adapters[adapter].operations[operation]
        return await one.invoke(self.invocation(one.prepare(arguments), **more))

    async def reconcile(self, adapter: str, operation: str, arguments: dict[str, Any], **more: Any) -> Finding:
        """Prepare and find out what became of it."""
        one = self.adapters[adapter].operations[operation]
        assert one.reconcile is not None
        return await one.reconcile(self.invocation(one.prepare(arguments), **more))

    def invocation(
        self, prepared: dict[str, Any], *, seconds: float = 5.0, effect_id: str = "eff-1", since: float = 0.0
    ) -> Invocation:
        """Of prepared arguments."""
        return Invocation(
            arguments=prepared,
            target=self.target,
            credential=Secret(self.credential),
            deadline=self.clock.monotonic() + seconds,
            effect_id=effect_id,
            learn=lambda secret: self.learned.append(secret.reveal()),
            since=since,
        )


@asynccontextmanager
async def desk(server: VendorServer | int, **more: Any) -> AsyncIterator[Desk]:
    """A desk over a server, whose adapters' pauses pass at once; closed when the block ends."""
    port = server if isinstance(server, int) else server.port
    clock = FakeClock(sleeps_pass=True)
    adapters = build_adapters(clock, private_targets=[f"127.0.0.1:{port}"])
    try:
        yield Desk(adapters, clock, port, **more)
    finally:
        for adapter in adapters.values():
            await adapter.close()
