"""Rows of gRPC methods, with a service on loopback that a relay can cut off."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from adapters.base import Clock, SideEffect, Target
from adapters.grpc_upstream.adapter import GrpcUpstreamAdapter
from adapters.grpc_upstream.offers import offers_of
from adapters.recipes import Recipe
from adapters.transport.guard import Guard
from fakes.grpc_service.compiled import CUSTOMERS, descriptor_set, message, pool_of
from fakes.grpc_service.server import grpc_server, publishing
from fakes.recipes.base import UPSTREAM_WORDS, BadOptions, RecipeCase, Trouble
from fakes.relay import Relay, Way
from fakes.resolver import FakeResolver

SERVICE = "acme.customers.v1.CustomerService"
OFFERS = {offer.name.partition("/")[2]: offer for offer in offers_of(descriptor_set(CUSTOMERS))}
_ANSWERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "GetCustomer": ("Customer", {"customer_id": "c-1", "name": "Ann", "balance_cents": 1250}),
    "AddNote": ("Note", {"note_id": "n-1", "text": "called"}),
}
_GARBAGE = b"\xff\xff\xff"
_LARGE = b"\x0a\xff\xff\xff\x07" + b"x" * (16 * 1024 * 1024 - 1)
"""A text of 16 MiB in the first field."""


@dataclass
class GrpcUpstream:
    """The service, behind a relay."""

    relay: Relay
    trouble: Trouble
    calls: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def port(self) -> int:
        """Where the relay listens."""
        return int(self.relay.address.rpartition(":")[2])

    async def came(self) -> None:
        """Return once a call has been read."""
        await self.arrived.wait()

    async def answer(self, method: str, request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        """As its trouble has it."""
        self.calls += 1
        self.arrived.set()
        if self.trouble is Trouble.HANGS:
            await asyncio.Event().wait()
        if self.trouble is Trouble.RESET:
            await self.relay.turn(Way.REFUSE)
            await self.relay.turn(Way.PASS)
        if self.trouble is Trouble.FAULT:
            await context.abort(grpc.StatusCode.INTERNAL, UPSTREAM_WORDS)
        if self.trouble is Trouble.REFUSES:
            words = f"{UPSTREAM_WORDS}: {request!r} {context.invocation_metadata()}"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, words)
        return {Trouble.GARBAGE: _GARBAGE, Trouble.TOO_LARGE: _LARGE}.get(self.trouble) or _said(method)


def _said(method: str) -> bytes:
    name, fields = _ANSWERS[method]
    return message(f"acme.customers.v1.{name}", CUSTOMERS)(**fields).SerializeToString()


@asynccontextmanager
async def _upstream(trouble: Trouble, *, reflects: bool = True) -> AsyncIterator[GrpcUpstream]:
    data = descriptor_set(CUSTOMERS)
    reflecting = publishing(data, pool_of(data), SERVICE) if reflects else None
    async with (
        grpc_server({}, reflecting=reflecting) as server,
        Relay(f"127.0.0.1:{server.port}", lambda _data: b"").listening("127.0.0.1:0") as relay,
    ):
        upstream = GrpcUpstream(relay, trouble)
        for method in _ANSWERS:
            server.answers[f"{SERVICE}/{method}"] = _answering(upstream, method)
        yield upstream


def _answering(upstream: GrpcUpstream, method: str) -> Any:
    async def answer(request: bytes, context: grpc.aio.ServicerContext[Any, Any]) -> bytes:
        return await upstream.answer(method, request, context)

    return answer


def build(clock: Clock, port: int) -> GrpcUpstreamAdapter:
    """The adapter, which may connect to one port of loopback."""
    return GrpcUpstreamAdapter(clock, Guard.of([f"127.0.0.1:{port}"]), FakeResolver({}), chance=lambda: 0.5)


def recipe(method: str, side_effect: SideEffect = SideEffect.READ, **options: Any) -> Recipe:
    """A row of a method of the service."""
    offer = OFFERS[method]
    return Recipe(
        tool=f"crm_{method.lower()}",
        operation="unary",
        side_effect=side_effect,
        options={**offer.options, **options},
        input_schema=offer.input_schema,
        output_schema=offer.output_schema,
    )


def target(port: int, audience: str = "", **options: Any) -> Target:
    """A connection to a service on loopback."""
    told = {"address": f"127.0.0.1:{port}", "tls": False, **options}
    return Target(name="crm", account="acme/crm", hosts=("127.0.0.1",), options=told, audience=audience)


def _case(name: str, one: Recipe, arguments: Mapping[str, Any], **more: Any) -> RecipeCase:
    connection = more.pop("connection", {"auth": {"kind": "bearer"}})
    reflects = connection.get("reflection", True)
    return RecipeCase(
        name=f"grpc_upstream.{name}",
        build=build,
        recipe=one,
        arguments=arguments,
        target=lambda port: target(port, **connection),
        upstream=lambda trouble: _upstream(trouble, reflects=reflects),
        **more,
    )


_NOTE = {"customer_id": "c-1", "text": "called", "labels": [{"key": "mood", "value": "good"}]}
_OPTIONS = OFFERS["AddNote"].options

CASES: tuple[RecipeCase, ...] = (
    _case(
        "read",
        recipe("GetCustomer"),
        {"customer_id": "c-1"},
        bad=(
            BadOptions(options={}, pointers=frozenset({"/method", "/descriptors", "/pin"})),
            BadOptions(
                options={**_OPTIONS, "method": "AddNote", "key_metadata": "grpc-timeout"},
                pointers=frozenset({"/method", "/key_metadata"}),
            ),
            BadOptions(options={**_OPTIONS, "pin": f"sha256:{'0' * 64}"}, pointers=frozenset({"/pin"})),
            BadOptions(options={**_OPTIONS, "method": f"{SERVICE}/GetCustomer"}, pointers=frozenset({"/descriptors"})),
        ),
    ),
    _case(
        "write",
        recipe("AddNote", SideEffect.WRITE),
        _NOTE,
        connection={"auth": {"kind": "header", "name": "x-api-key"}, "audience": "crm"},
    ),
    _case(
        "keyed",
        recipe("AddNote", SideEffect.WRITE, key_metadata="x-idempotency-key"),
        _NOTE,
        connection={"reflection": False, "authority": "crm.corp.example"},
        credential=None,
    ),
)
