"""Rows of `http_api`, each with another way to ask and to prove who asks."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from adapters.base import Clock, SideEffect, Target
from adapters.http_api.adapter import HttpApiAdapter
from adapters.recipes import Recipe
from adapters.transport.api import ApiParts
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.guard import Guard
from adapters.transport.pauses import MemoryPauses
from adapters.transport.resolver import SystemResolver
from adapters.transport.tokens import MemoryTokens
from fakes.recipes.base import UPSTREAM_WORDS, BadOptions, RecipeCase, Trouble
from fakes.vendor import CREDENTIAL, Answer, Asked, Said, VendorServer, vendor_server

BASE_PATH = "/api"
PAIR = f"bot:{CREDENTIAL}"


@dataclass(frozen=True)
class Service:
    """A service, each of whose requests is the call itself."""

    server: VendorServer

    @property
    def port(self) -> int:
        """Where it listens."""
        return self.server.port

    @property
    def calls(self) -> int:
        """How many requests have been read."""
        return len(self.server.asked)

    async def came(self) -> None:
        """Return once the first has been read."""
        await self.server.arrived.wait()


def build(clock: Clock, port: int) -> HttpApiAdapter:
    """The adapter, which may connect to this port of loopback."""
    transport = Transport(
        clock=clock,
        random=lambda: 1.0,
        guard=Guard.of([f"127.0.0.1:{port}"]),
        resolver=SystemResolver(),
        breaker=Breaker(clock),
    )
    parts = ApiParts(clock=clock, transport=transport, pauses=MemoryPauses(clock), tokens=MemoryTokens(clock))
    return HttpApiAdapter(parts)


def target(port: int, *, audience: str = "", **options: Any) -> Target:
    """A connection to a service on loopback."""
    base = {"base_url": f"http://127.0.0.1:{port}{BASE_PATH}"}
    hosts = (f"127.0.0.1:{port}",)
    return Target(name="crm", account="acme/crm", hosts=hosts, options={**base, **options}, audience=audience)


def recipe(
    options: Mapping[str, Any],
    properties: Mapping[str, Any],
    side_effect: SideEffect = SideEffect.WRITE,
    *,
    required: tuple[str, ...] = (),
) -> Recipe:
    """A row with these options."""
    return Recipe(
        tool="crm_tool",
        operation="request",
        side_effect=side_effect,
        options=options,
        input_schema={
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        },
        output_schema=None,
    )


@asynccontextmanager
async def service(well: Any, trouble: Trouble) -> AsyncIterator[Service]:
    """One that answers with this JSON when it is well."""
    async with vendor_server(_answering(well, trouble)) as server:
        yield Service(server)


def _answering(well: Any, trouble: Trouble) -> Answer:
    answers = {
        Trouble.NONE: Said(well),
        Trouble.RESET: Said(cut=True),
        Trouble.HANGS: Said(hangs=True),
        Trouble.FAULT: Said({"error": UPSTREAM_WORDS}, status=500),
        Trouble.GARBAGE: Said(body=f"<html>{UPSTREAM_WORDS}".encode(), headers={"Content-Type": "text/html"}),
        Trouble.TOO_LARGE: Said(body=b'"' + b"x" * (5 * 1024 * 1024) + b'"'),
    }

    def refusing(asked: Asked) -> Said:
        quoted = f"{asked.path} {asked.query} {asked.headers} {asked.body!r} {UPSTREAM_WORDS}"
        return Said({"message": quoted}, status=400, headers={"X-Echo": asked.headers.get("Authorization", "")})

    return refusing if trouble is Trouble.REFUSES else lambda _asked: answers[trouble]


TEXT = {"type": "string"}
NOTE_OPTIONS: Mapping[str, Any] = {
    "method": "POST",
    "path": "/v1/customers/{customer_id}/notes",
    "query": {"expand": {"value": "owner"}, "tag": {"argument": "/tags", "style": "repeat"}},
    "headers": {"X-Reason": {"argument": "/reason"}},
    "body": {"type": "json", "fields": {"text": {"argument": "/text"}, "source": {"value": "agent"}}},
    "answer": {"type": "json", "pointer": "/data"},
}
NOTE_PROPERTIES: Mapping[str, Any] = {
    "customer_id": TEXT,
    "text": TEXT,
    "tags": {"type": "array", "items": TEXT},
    "reason": TEXT,
}
NOTE_ARGUMENTS: Mapping[str, Any] = {"customer_id": "c-7", "text": "Called.", "tags": ["a", "b"], "reason": "follow-up"}
NOTE = recipe(NOTE_OPTIONS, NOTE_PROPERTIES, required=("customer_id", "text"))
WELL = {"data": {"id": "n-1"}}


def _note(**options: Any) -> Mapping[str, Any]:
    return {**NOTE_OPTIONS, **options}


BAD = (
    BadOptions(options={}, pointers=frozenset({"/method", "/path"})),
    BadOptions(
        options=_note(
            method="TRACE",
            path="/v1/{who}/../{reason}",
            query={"tag": {"argument": "/nowhere"}, "page": {}},
            headers={"Host": {"value": "evil.test"}, "Accept": {"argument": "/text"}},
            body={"type": "xml"},
            answer={"type": "json", "pointer": "data"},
            timeout=3,
        ),
        pointers=frozenset(
            {"/method", "/path", "/query/tag/argument", "/query/page", "/headers/Host", "/headers/Accept"}
            | {"/body/type", "/answer/pointer", "/timeout"}
        ),
    ),
    BadOptions(options=_note(method="GET"), pointers=frozenset({"/method", "/body"})),
    BadOptions(
        options=_note(key_header="X-Reason", headers={"x-reason": {"argument": "/tags"}, "X-Reason": {"value": "a\n"}}),
        pointers=frozenset({"/headers/x-reason/argument", "/headers/X-Reason/value", "/key_header"}),
    ),
    BadOptions(options=_note(body={"type": "form", "content": {"value": 1}}), pointers=frozenset({"/body/content"})),
)
_ANY_BODY: Mapping[Trouble, frozenset[Any]] = {Trouble.GARBAGE: frozenset()}
"""Whatever comes is a text."""
_NO_BODY: Mapping[Trouble, frozenset[Any]] = {Trouble.GARBAGE: frozenset(), Trouble.TOO_LARGE: frozenset()}
"""Nobody reads it."""


def _case(name: str, one: Recipe, arguments: Mapping[str, Any], well: Any = WELL, **more: Any) -> RecipeCase:
    options = more.pop("connection", {"auth": {"kind": "bearer"}})
    return RecipeCase(
        name=f"http_api.{name}",
        build=build,
        recipe=one,
        arguments=arguments,
        target=more.pop("target", partial(target, **options)),
        upstream=partial(service, well),
        **more,
    )


CASES: tuple[RecipeCase, ...] = (
    _case("json", NOTE, NOTE_ARGUMENTS, bad=BAD),
    _case(
        "key",
        recipe(_note(key_header="Idempotency-Key"), NOTE_PROPERTIES, required=("customer_id", "text")),
        NOTE_ARGUMENTS,
        connection={"auth": {"kind": "header", "name": "X-Api-Key", "form": "Key={}"}, "audience": "crm"},
    ),
    _case(
        "query",
        recipe(
            {"method": "GET", "path": "/v1/files/{+path}", "query": {"page": {"argument": "/page"}}},
            {"path": TEXT, "page": {"type": "integer"}},
            SideEffect.READ,
            required=("path",),
        ),
        {"path": "a/b c/d.txt", "page": 2},
        connection={"auth": {"kind": "query", "name": "api_key"}},
    ),
    _case(
        "search",
        recipe(
            {"method": "POST", "path": "/v1/search", "body": {"type": "json", "content": {"argument": ""}}},
            {"query": TEXT},
            SideEffect.READ,
            required=("query",),
        ),
        {"query": "open"},
        connection={"auth": {"kind": "basic"}},
        credential=PAIR,
    ),
    _case(
        "text",
        recipe(
            {"method": "GET", "path": "/{name}", "answer": {"type": "text"}},
            {"name": TEXT},
            SideEffect.READ,
            required=("name",),
        ),
        {"name": "readme"},
        connection={},
        credential=None,
        kinds=_ANY_BODY,
    ),
    _case(
        "form",
        recipe(
            {"method": "PUT", "path": "/v1/me", "body": {"type": "form", "fields": {"name": {"argument": "/name"}}}},
            {"name": TEXT},
            SideEffect.SEND,
            required=("name",),
        ),
        {"name": "Ann"},
    ),
    _case(
        "none",
        recipe(
            {"method": "DELETE", "path": "/v1/notes/{note}", "answer": {"type": "none"}},
            {"note": TEXT},
            required=("note",),
        ),
        {"note": "n/1"},
        kinds=_NO_BODY,
    ),
)
