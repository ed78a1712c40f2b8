"""A server that pretends to be OPA and misbehaves as it is told."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

DENY = {"effect": "deny", "reasons": [], "obligations": []}
ALLOW = {"effect": "allow", "reasons": [], "obligations": []}
BUNDLE = "authz"


class FakeOpa:
    """Answers like OPA about one bundle. What a test changes holds from the next request on."""

    def __init__(self) -> None:
        self.revision = "r1"
        self.body: bytes = json.dumps({"result": ALLOW}).encode()
        """What is answered for a call, with the provenance added when it is an object with an end."""
        self.on_call: Handler | None = None
        """Takes over the answer to calls."""
        self.on_probe: Handler | None = None
        self.on_status: Handler | None = None
        self.on_anything: Handler | None = None
        self.heard_at: Callable[[], float] = time.time
        """When it last heard from its bundle service."""
        self.error: dict[str, str] = {}
        self.calls: list[bytes] = []
        """The bodies of decisions that were asked for, probes left out."""
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        """Method, path with its query, and headers of every request."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request."""
        self.seen.append((request.method, request.path_qs, dict(request.headers)))
        if self.on_anything is not None:
            return await self.on_anything(request)
        if request.path == "/v1/status":
            return await self.on_status(request) if self.on_status else web.json_response(self._status())
        if request.path == "/health":
            return web.json_response({})
        if request.path == "/v1/data/gateway/authz/decision":
            return await self._decision(request)
        if request.path == "/v1/data/gateway/admin/decision":
            return self.raw(b"{}")
        return web.json_response({"code": "not_found"}, status=404)

    async def _decision(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        is_probe = json.loads(raw)["input"].get("principal", {}).get("tenant") == ""
        if is_probe:
            return await self.on_probe(request) if self.on_probe else self.reply({"result": DENY})
        self.calls.append(raw)
        return await self.on_call(request) if self.on_call else self.raw(self.body)

    def raw(self, body: bytes) -> web.Response:
        """The body as it is, but with the provenance in front when it begins as an object."""
        bundles = {BUNDLE: {"revision": self.revision}} if self.revision else {}
        head = b'{"provenance":' + json.dumps({"version": "1", "bundles": bundles}).encode()
        if body.startswith(b"{"):
            body = head + (b"}" if body == b"{}" else b"," + body[1:])
        return web.Response(body=body, content_type="application/json")

    def reply(self, answer: dict[str, Any]) -> web.Response:
        """The answer with its provenance."""
        return self.raw(json.dumps(answer).encode())

    def _status(self) -> dict[str, Any]:
        heard = datetime.fromtimestamp(self.heard_at(), UTC).isoformat()
        state = {"name": BUNDLE, "active_revision": self.revision, "last_successful_request": heard, **self.error}
        return {"result": {"labels": {}, "bundles": {BUNDLE: state}, "plugins": {}}}


@contextlib.asynccontextmanager
async def served(opa: FakeOpa) -> AsyncIterator[str]:
    """The URL where it is served on loopback."""
    server = web.Server(opa.handle)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


async def hangs(_request: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError


async def drips(request: web.Request) -> web.StreamResponse:
    """Sends a good answer, byte by byte, so slowly that no byte is late."""
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        for byte in json.dumps({"result": ALLOW}).encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(0.02)
    return response


async def closes(request: web.Request) -> web.StreamResponse:
    """Closes the connection without an answer."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def truncates(request: web.Request) -> web.StreamResponse:
    """Promises more than it sends."""
    return await _sends(request, b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"result":{"effect":"allow"')


async def gibbers(request: web.Request) -> web.StreamResponse:
    """Speaks no HTTP."""
    return await _sends(request, b"\x00\x01\x02 garbage\r\n\r\n")


async def redirects(_request: web.Request) -> web.StreamResponse:
    """Sends the asker elsewhere."""
    return web.Response(status=307, headers={"Location": "/elsewhere"})


async def bloats(_request: web.Request) -> web.StreamResponse:
    """Sends a good answer that is larger than one may be."""
    return web.Response(body=json.dumps({"result": ALLOW}).encode() + b" " * 1024 * 1024)


def status(code: int, body: dict[str, Any] | None = None) -> Handler:
    """Answers with this status."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response(body or {}, status=code)

    return answer


async def _sends(request: web.Request, raw: bytes) -> web.StreamResponse:
    transport = request.transport
    assert isinstance(transport, asyncio.WriteTransport)
    transport.write(raw)
    transport.close()
    return web.Response()


class FakeFloor:
    """A floor in memory: revisions in the order of their text."""

    def __init__(self, newest: str = "") -> None:
        self.newest = newest

    def why_not(self, revision: str) -> str:
        """Empty unless it is older than the newest."""
        return "it is older" if revision < self.newest else ""

    def raise_to(self, revision: str) -> None:
        """It is the newest."""
        self.newest = max(self.newest, revision)
