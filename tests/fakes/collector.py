"""A collector of OpenTelemetry logs that keeps what it takes, and answers as it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


class Collector:
    """Takes logs at `url` by OTLP over HTTP in JSON."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.answer: bytes = b"{}"
        self.is_hanging = False
        self.is_asked = asyncio.Event()
        self.requests: list[dict[str, Any]] = []
        """What it took."""
        self.headers: list[dict[str, str]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """What aiohttp calls."""
        self.is_asked.set()
        self.headers.append(dict(request.headers))
        if self.is_hanging:
            await asyncio.Event().wait()
        if self.status == 200:
            self.requests.append(json.loads(await request.read()))
        return web.Response(status=self.status, body=self.answer, content_type="application/json")

    def records(self) -> list[dict[str, Any]]:
        """Every record that it took, in order."""
        return [
            record
            for request in self.requests
            for resource in request["resourceLogs"]
            for scope in resource["scopeLogs"]
            for record in scope["logRecords"]
        ]


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    """One that runs on loopback."""
    made = Collector()
    app = web.Application()
    app.router.add_post("/v1/logs", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/logs"
    try:
        yield made
    finally:
        await runner.cleanup()
