"""Everything of one replica that has to do with a registry in the store, over a real database."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc.aio
import orjson

from adapters.base import Adapter, Clock
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.journal import ListJournal
from fakes.limiter import FakeLimiter
from fakes.principals import principal
from fakes.sink import ListSink
from gateway.administration import Administration
from gateway.admission import Admission
from gateway.arguments.schema import compile_schema
from gateway.audit.deeds import Deeds
from gateway.call import CallerKind, Principal
from gateway.identity.fixed import FixedAuthenticator
from gateway.metrics.counts import Metrics
from gateway.policy.admin import AdminPolicy
from gateway.registry.catalogue import Catalogue
from gateway.registry.changes import Change, Changes
from gateway.registry.follower import RegistryFollower
from gateway.registry.loader import Loaded
from gateway.registry.stops import Stops
from gateway.registry.stored import EMPTY, StoredRegistry
from gateway.registry.written import document_of
from gateway.rows import Rate
from gateway.settings.load import Settings
from gateway.store.database import Database
from gateway.store.rows import RowKind
from gateway.surfaces.edge import Edge
from gateway.surfaces.registry import RegistryService
from gateway.telemetry import configure
from gateway.v1.registry_service_pb2_grpc import RegistryServiceStub

CONNECTION: dict[str, Any] = {"name": "fake", "tenant": "acme", "vendor": "fake"}
AGENT: dict[str, Any] = {"name": "helper", "tenant": "acme", "tools": ["echo"], "scopes": ["test:read"]}
TOOL: dict[str, Any] = {
    "name": "echo",
    "description": "Gives `text` back.",
    "input_schema": {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {"text": {"type": "string"}},
    },
    "requires": ["test:read"],
    "side_effect": "read",
    "binding": {"adapter": "fake", "operation": "echo", "connection": "fake"},
    "surfaces": ["grpc"],
}


def operator(**changes: Any) -> Principal:
    """A person of acme who may change the registry."""
    usual: dict[str, Any] = {
        "id": "ann",
        "kind": CallerKind.HUMAN,
        "agent": "",
        "scopes": frozenset({"registry:write"}),
    }
    return principal(**usual | changes)


def change(kind: RowKind, row: dict[str, Any], *, expected: int | None = 0, tenant: str = "acme") -> Change:
    """The row is to be put."""
    document = document_of(orjson.dumps(row), kind, row["name"], tenant)
    return Change(kind=kind, name=row["name"], document=document, expected=expected)


def without(kind: RowKind, name: str, *, expected: int | None = None) -> Change:
    """The row is to be deleted."""
    return Change(kind=kind, name=name, expected=expected)


def whole(tenant: str = "acme", **tool: Any) -> list[Change]:
    """A connection, a tool and an agent that has it; agents first, which is not the order of the store."""
    return [
        change(RowKind.AGENT, AGENT | {"tenant": tenant}, tenant=tenant),
        change(RowKind.TOOL, TOOL | tool, tenant=tenant),
        change(RowKind.CONNECTION, CONNECTION | {"tenant": tenant}, tenant=tenant),
    ]


@dataclass
class Replica:
    """One gateway, as far as the registry is concerned."""

    database: Database
    clock: Clock
    adapters: Mapping[str, Adapter]
    settings: Settings = field(default_factory=Settings)
    engine: FakeEngine = field(default_factory=FakeEngine)
    journal: ListJournal = field(default_factory=ListJournal)
    sink: ListSink = field(default_factory=ListSink)
    against: tuple[str, ...] = ()
    """What others have against any change."""
    events: list[str] = field(default_factory=list)
    max_stale_seconds: float = 10.0

    def __post_init__(self) -> None:
        """The parts."""
        numbers = itertools.count()
        self.stops = Stops()
        self.registry = StoredRegistry(adapters=self.adapters, compile_schema=compile_schema, builtin={})
        self.catalogue: Catalogue = EMPTY
        self.loaded: Loaded | None = None
        self.follower = RegistryFollower(
            self.database,
            clock=self.clock,
            stops=self.stops,
            max_stale_seconds=self.max_stale_seconds,
            on_event=lambda name, _fields: self.events.append(name),
        )
        self.follower.hand_over(self.take_over, lambda: self.registry.unusable)
        self.changes = Changes(
            self.database, self.registry, settings=lambda: self.settings, clock=self.clock, against=self._against
        )
        deeds = Deeds(self.journal, self.sink, clock=self.clock, new_id=lambda: f"deed-{next(numbers)}")
        self.administration = Administration(
            self.database,
            policy=AdminPolicy(self.engine),
            deeds=deeds,
            changes=self.changes,
            on_changed=self.follower.poke,
            clock=self.clock,
        )

    async def take_over(self) -> tuple[str, ...]:
        """What a gateway does with changed rows."""
        self.loaded = self.registry.load(self.follower.rows, self.settings)
        assert self.loaded.catalogue is not None
        self.catalogue = self.loaded.catalogue
        return ()

    async def _against(self, _before: Catalogue, _after: Catalogue) -> tuple[str, ...]:
        return self.against

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """The follower runs."""
        await self.follower.start()
        try:
            await self.follower.take_over()
            yield
        finally:
            await self.follower.stop()


def replica(database: Database, clock: Clock, **changes: Any) -> Replica:
    """One over a fake vendor."""
    return Replica(database, clock, **{"adapters": {"fake": FakeAdapter()}} | changes)


@contextlib.asynccontextmanager
async def served(one: Replica, socket: str, who: Principal | None = None) -> AsyncIterator[Any]:
    """A stub of its RegistryService, whose one caller is this."""
    edge = Edge(
        listener="control",
        authenticator=FixedAuthenticator(who or operator()),
        admission=Admission(
            take=FakeLimiter(one.clock.monotonic).take, rate=Rate(per_minute=6000, burst=1000), max_in_flight=10
        ),
        metrics=Metrics(listeners=["control"]),
        log=configure("error"),
    )
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((RegistryService(edge, one.administration).handler(),))
    server.add_insecure_port(socket)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(socket) as channel:
            yield RegistryServiceStub(channel)
    finally:
        await server.stop(None)
