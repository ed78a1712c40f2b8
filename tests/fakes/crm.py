"""A small service of a company's own: customers and notes, which believes a caller by its signed assertion alone."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import jwt
from aiohttp import web

AUDIENCE = "crm"
ISSUER = "https://tollhouse.corp.example"


@dataclass
class Crm:
    """The service. `jwks_url` is where it reads whose signature it takes."""

    port: int = 0
    jwks_url: str = ""
    token: str = field(default="", repr=False)
    callers: list[Mapping[str, Any]] = field(default_factory=list)
    """What each request's assertion said, once it was verified."""
    keys: list[str] = field(default_factory=list)
    """The idempotency keys that came."""
    targets: list[str] = field(default_factory=list)
    """The request targets, byte for byte."""
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By idempotency key."""
    breaks_off: bool = False
    """It does what it is asked and breaks off."""

    async def add_note(self, request: web.Request) -> web.StreamResponse:
        """A note, once for each key; whoever asks again gets the same one."""
        await self._note_caller(request)
        key = request.headers["Idempotency-Key"]
        self.keys.append(key)
        if key not in self.notes:
            self.notes[key] = {"id": f"n-{len(self.notes) + 1}", **await request.json()}
        if self.breaks_off:
            self.breaks_off = False
            assert request.transport is not None
            request.transport.abort()
        return web.json_response({"data": self.notes[key]}, status=201)

    async def customer(self, request: web.Request) -> web.Response:
        """A customer of the caller's tenant, and all that a service should not tell of its caller."""
        claims = await self._note_caller(request)
        said = {"authorization": request.headers["Authorization"], "assertion": request.headers["Tollhouse-Assertion"]}
        return web.json_response({"id": request.match_info["id"], "tenant": claims["tenant"], "said": said})

    async def _note_caller(self, request: web.Request) -> Mapping[str, Any]:
        self.targets.append(request.raw_path)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            raise web.HTTPUnauthorized
        try:
            claims = await self._verified(request.headers.get("Tollhouse-Assertion", ""))
        except (jwt.PyJWTError, KeyError) as error:
            raise web.HTTPUnauthorized from error
        self.callers.append(claims)
        return claims

    async def _verified(self, token: str) -> Mapping[str, Any]:
        header = jwt.get_unverified_header(token)
        if header.get("typ") != "tollhouse-assertion+jwt":
            raise jwt.InvalidTokenError("another kind of token")
        async with aiohttp.ClientSession() as session, session.get(self.jwks_url) as answer:
            keys = {one["kid"]: one for one in (await answer.json(content_type=None))["keys"]}
        key = jwt.PyJWK(keys[header["kid"]], "EdDSA").key
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=["EdDSA"],
            audience=AUDIENCE,
            issuer=ISSUER,
            leeway=5,
            options={"require": ["exp", "iat", "iss", "aud", "sub", "jti"], "strict_aud": True},
        )
        return claims


@asynccontextmanager
async def running_crm(token: str) -> AsyncIterator[Crm]:
    """One on a port of loopback, until the block ends."""
    crm = Crm(token=token)
    app = web.Application()
    app.router.add_post("/api/v1/customers/{id}/notes", crm.add_note)
    app.router.add_get("/api/v1/customers/{id}", crm.customer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    crm.port = runner.addresses[0][1]
    try:
        yield crm
    finally:
        await runner.cleanup()
