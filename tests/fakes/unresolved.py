"""Effects of which nobody knows, the vendor that does, and all who try to find out."""

import hashlib
import io
import itertools
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import select

from adapters.base import SideEffect, Target
from fakes.calls import opened_call
from fakes.clock import FakeClock
from fakes.credentials import FakeSource
from fakes.journal import ListJournal
from fakes.ledger import LedgerAdapter
from fakes.principals import principal
from fakes.rows import connection, tool
from fakes.seal import FakeSeal
from fakes.sink import ListSink
from fakes.spending import charge
from gateway.audit.base import Line, Sink
from gateway.audit.deeds import Deeds
from gateway.call import CallerKind, Principal
from gateway.credentials.resolver import Resolver
from gateway.registry.catalogue import EVERYBODY, Catalogue
from gateway.resolution.desk import Desk, May, may_by_scope
from gateway.resolution.reconciler import Reconciler
from gateway.resolution.settling import Settling
from gateway.resolution.tools import finder
from gateway.resolution.vendors import Vendors
from gateway.rows import Binding, Connection, Tool
from gateway.settings.parts import CredentialGrant
from gateway.settings.resolution import ResolutionSettings
from gateway.store import budgets, calls
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.schema import idempotency
from gateway.store.unknowns import ARGUMENTS_PLACE, Unknown, account_of, find
from gateway.store.writers import hold
from gateway.telemetry import Log, configure

ARGUMENTS = b'{"amount":5,"to":"ann"}'
DIGEST = f"sha256:{hashlib.sha256(ARGUMENTS).hexdigest()}"
TOKEN = "tok-5d1c6a6e9b"
GRANT = CredentialGrant(tenant="acme", references=("env:PAY_TOKEN",), hosts=("pay.example",))
WORD = "It is in the ledger."


def pay_tool(**changes: Any) -> Tool:
    """The tool that pays."""
    usual = {
        "name": "pay",
        "side_effect": SideEffect.WRITE,
        "binding": Binding(adapter="ledger", operation="pay", connection="bank"),
    }
    return tool(**usual | changes)


def bank(**changes: Any) -> Connection:
    """Where it pays from."""
    target = Target(name="bank", hosts=("pay.example",), options={"account": "17"})
    usual = {"name": "bank", "vendor": "ledger", "target": target, "credential": "env:PAY_TOKEN"}
    return connection(**usual | changes)


def person(**changes: Any) -> Principal:
    """Somebody who may settle."""
    usual = {"id": "ann", "kind": CallerKind.HUMAN, "agent": "", "scopes": frozenset({"calls:resolve"}), "proof": "jwt"}
    return principal(**usual | changes)


def intent(**changes: Any) -> bytes:
    """What the row tells of the effect."""
    told = {
        "tool": "pay",
        "tool_version": "1",
        "side_effect": "write",
        "connection": "bank",
        "agent": "helper",
        "run_id": "r1",
        "arguments": '{"amount":5,"to":"…"}',
        "key_digest": "kd",
        "account": account_of(pay_tool().binding, bank()),
    }
    return orjson.dumps(told | changes)


def unknown_effect(**changes: Any) -> Unknown:
    """One that was read from a row."""
    usual: dict[str, Any] = {
        "key": "k-c1",
        "call_id": "c1",
        "effect_id": "e-c1",
        "arguments_digest": DIGEST,
        "approval_id": "",
        "claimed_at": moment_of(0.0),
        "intent": intent(),
        "arguments": None,
    }
    return Unknown(**usual | changes)


@dataclass
class Scene:
    """One database, one vendor and one audit; as many gateways and people over them as a test wants."""

    database: Database
    clock: FakeClock
    vendor: LedgerAdapter = field(default_factory=LedgerAdapter)
    seal: FakeSeal = field(default_factory=FakeSeal)
    source: FakeSource = field(default_factory=lambda: FakeSource({"PAY_TOKEN": TOKEN}))
    journal: ListJournal = field(default_factory=ListJournal)
    sink: ListSink = field(default_factory=ListSink)
    outer_sink: Sink | None = None
    """In the place of `sink`, when there is one."""
    tools: tuple[Tool, ...] = (pay_tool(),)
    connections: tuple[Connection, ...] = (bank(),)
    grants: tuple[CredentialGrant, ...] = (GRANT,)
    settings: ResolutionSettings = field(default_factory=ResolutionSettings)
    written: io.StringIO = field(default_factory=io.StringIO)
    ids: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def log(self) -> Log:
        """Writes into `written`."""
        return configure("debug", self.written)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What was logged."""
        return [orjson.loads(line) for line in self.written.getvalue().splitlines()]

    @property
    def lines(self) -> list[Line]:
        """What the audit has."""
        return self.sink.lines

    def catalogue(self) -> Catalogue:
        """The registry of the moment."""
        return catalogue_of(self.tools, self.connections)

    def deeds(self) -> Deeds:
        """Who writes the lines."""
        return Deeds(
            self.journal, self.outer_sink or self.sink, clock=self.clock, new_id=lambda: f"deed-{next(self.ids)}"
        )

    def settling(self, database: Database | None = None) -> Settling:
        """Who settles, over another pool when asked."""
        return Settling(database or self.database, self.deeds(), self.clock)

    def vendors(self) -> Vendors:
        """Who asks."""
        return Vendors(
            finder(self.catalogue, {"ledger": self.vendor}),
            credentials=lambda: Resolver({"env": self.source}, self.grants),
            seal=self.seal,
            clock=self.clock,
            ask_seconds=self.settings.ask_seconds,
        )

    def desk(self, may: May = may_by_scope, database: Database | None = None) -> Desk:
        """Where people settle."""
        return Desk(database or self.database, self.vendors(), self.settling(database), self.deeds(), may)

    def reconciler(self, database: Database | None = None) -> Reconciler:
        """One gateway's."""
        return Reconciler(
            database or self.database,
            self.vendors(),
            self.settling(database),
            settings=self.settings,
            clock=self.clock,
            chance=lambda: 0.5,
            log=self.log,
        )

    async def put(self, call_id: str = "c1", *, tenant: str = "acme", is_askable: bool = True, **changes: Any) -> None:
        """An unknown effect with what it reserved, claimed now, and the call that waits for it."""
        key = f"k-{call_id}"
        now = moment_of(self.clock.now())
        row = {
            "tenant": tenant,
            "key": key,
            "call_id": call_id,
            "effect_id": f"e-{call_id}",
            "arguments_digest": DIGEST,
            "standing": "unknown",
            "writer": "w1",
            "intent": intent(),
            "arguments": await self.seal.seal(tenant, ARGUMENTS_PLACE + key, ARGUMENTS) if is_askable else None,
            "claimed_at": now,
        }
        async with self.database.tenant(tenant) as session:
            await hold(session, "w1", now=now, until=now)
            await session.execute(idempotency.insert().values(row | changes))
            await budgets.reserve(session, f"e-{call_id}", [charge(limit=1000)], now)
            await calls.open_call(session, opened_call(call_id, created_at=now))
            await calls.leave(session, call_id, until=moment_of(self.clock.now() + 1e6))

    async def found(self, call_id: str = "c1", tenant: str = "acme") -> Unknown | None:
        """The effect, while it is unknown."""
        async with self.database.tenant(tenant, is_read=True) as session:
            return await find(session, call_id)

    async def standing(self, call_id: str = "c1", tenant: str = "acme") -> str:
        """What the row of its key says; empty when there is none."""
        async with self.database.tenant(tenant, is_read=True) as session:
            asked = select(idempotency.c.standing).where(idempotency.c.call_id == call_id)
            return (await session.execute(asked)).scalar_one_or_none() or ""

    async def round(self, reconciler: Reconciler, *, after: float = 0.0) -> None:
        """One round of this gateway, so many seconds later."""
        self.clock.advance(after)
        reconciler.tick()
        await reconciler.idle()


def catalogue_of(tools: tuple[Tool, ...], connections: tuple[Connection, ...]) -> Catalogue:
    """A registry that every tenant has, and of which nobody sees anything."""
    by_name = {tool.name: tool for tool in tools}
    return Catalogue(agents={}, tools=tools, connections=connections, digest="", tools_of={EVERYBODY: by_name})
