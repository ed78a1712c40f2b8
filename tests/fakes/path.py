"""The whole path: every step the real one, between an engine, a vendor, a limiter, a source and a disk
that obey a test.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from adapters.base import Fault, Invocation, Secret
from fakes.adapter import FakeAdapter
from fakes.audit import opened, written
from fakes.budget import DictBudget
from fakes.clock import FakeClock
from fakes.credentials import FakeLender, FakeSource
from fakes.engine import FakeEngine
from fakes.files import Disk
from fakes.keys import DictTenants
from fakes.limiter import FakeLimiter
from fakes.parking import ListApprovals
from fakes.principals import principal
from gateway.admission import Admission
from gateway.approvals.base import Approved, Parked
from gateway.arguments.schema import compile_schema
from gateway.audit.base import Begin, Journal, Line, Sink
from gateway.audit.late import LateLines
from gateway.audit.open import Audit
from gateway.budget.base import FindRun, OpenRun
from gateway.budget.charging import Charging
from gateway.budget.tariffs import Tariffs
from gateway.call import (
    Answer,
    ApprovalUse,
    Decision,
    Explanation,
    Failure,
    Known,
    Pending,
    Principal,
    Request,
    Result,
    Whose,
)
from gateway.credentials.base import Lent
from gateway.credentials.resolver import Resolver
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim, Keys, Tenants
from gateway.metrics.counts import Metrics
from gateway.pipeline import Parts, Pipeline
from gateway.policy.base import Engine
from gateway.ratelimit.limits import Limits
from gateway.registry.catalogue import Catalogue, Entry
from gateway.registry.loader import load_registry
from gateway.rows import Rate
from gateway.settings.limits import LimitSettings, RateSettings
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant

GRANT = CredentialGrant(tenant="acme", references=("env:FAKE_TOKEN",), hosts=("api.fake.example",))
TOKEN = "tok-5d1c6a6e9b"
WIDE = LimitSettings(tenant=RateSettings(per_minute=60_000, burst=10_000))
"""A rate that nobody reaches, so that the limiter is always asked."""


def _tool(name: str, operation: str = "echo", **changes: Any) -> dict[str, Any]:
    """A tool's row over one operation of the fake adapter."""
    properties: dict[str, Any] = {
        "echo": {
            "text": {"type": "string"},
            "times": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "write": {"path": {"type": "string"}, "body": {"type": "string"}},
        "send": {"to": {"type": "array", "items": {"type": "string"}}, "body": {"type": "string"}},
    }
    required = {"echo": ["text"], "write": ["path"], "send": ["to", "body"]}
    effects = {"echo": "read", "write": "write", "send": "send"}
    row: dict[str, Any] = {
        "name": name,
        "description": f"Does {operation}, as the test wants it.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "required": required[operation],
            "properties": properties[operation],
        },
        "requires": ["test:read"] if operation == "echo" else ["test:write"],
        "side_effect": effects[operation],
        "binding": {"adapter": "fake", "operation": operation, "connection": "plain"},
        "surfaces": ["grpc"],
    }
    if operation != "echo":
        row["idempotency"] = "optional"
    return {**row, **changes}


def _over(operation: str, connection: str) -> dict[str, str]:
    return {"adapter": "fake", "operation": operation, "connection": connection}


ONE_A_MINUTE = {"per_minute": 1, "burst": 1}
"""A rate that lets one call through and then none."""

TOOLS: tuple[dict[str, Any], ...] = (
    _tool("echo"),
    _tool("note", "write", private_arguments=["/body"]),
    _tool("mail", "send", idempotency="required"),
    _tool("tick", "write", idempotency="natural"),
    _tool("echo_admin", requires=["test:admin"]),
    _tool("echo_claim", required_claims={"clearance": "high"}),
    _tool("echo_role", allowed_roles=["auditor"]),
    _tool("echo_mode", modes=["work"]),
    _tool("echo_rate", limits={"rate": ONE_A_MINUTE}),
    _tool("echo_busy", binding=_over("echo", "busy")),
    _tool("echo_sealed", binding=_over("echo", "sealed")),
    _tool("note_sealed", "write", binding=_over("write", "sealed")),
    _tool(
        "echo_typed",
        output_schema={
            "type": "object",
            "additionalProperties": False,
            "required": ["count"],
            "properties": {"count": {"type": "integer"}},
        },
    ),
    _tool(
        "note_typed",
        "write",
        output_schema={"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}},
    ),
    _tool("echo_hidden"),
)
HIDDEN = "echo_hidden"
"""It exists, and no agent sees it."""

CONNECTIONS: tuple[dict[str, Any], ...] = (
    {"name": "plain", "tenant": "acme", "vendor": "fake"},
    {"name": "busy", "tenant": "acme", "vendor": "fake", "rate": ONE_A_MINUTE},
    {
        "name": "sealed",
        "tenant": "acme",
        "vendor": "fake",
        "hosts": ["api.fake.example"],
        "credential": "env:FAKE_TOKEN",
    },
)


def registry_rows() -> dict[str, Any]:
    """The rows of these tests as a manifest holds them."""
    agent = {
        "name": "helper",
        "tenant": "acme",
        "tools": [tool["name"] for tool in TOOLS if tool["name"] != HIDDEN],
        "scopes": ["test:read", "test:write"],
        "roles": ["assistant"],
    }
    return copy.deepcopy({"tools": list(TOOLS), "connections": list(CONNECTIONS), "agents": [agent]})


@dataclass
class RowChanges:
    """What is otherwise in the rows of one test: of the agent, and of tools and connections by name."""

    agent: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    connections: dict[str, dict[str, Any]] = field(default_factory=dict)

    def apply(self, rows: dict[str, Any]) -> dict[str, Any]:
        """The rows with these changes."""
        rows["agents"][0].update(self.agent)
        for of_kind, changes in (("tools", self.tools), ("connections", self.connections)):
            by_name = {row["name"]: row for row in rows[of_kind]}
            for name, changed in changes.items():
                by_name[name].update(changed)
        return rows


def catalogue_of(adapter: FakeAdapter, changes: RowChanges) -> Catalogue:
    """The registry that these rows load to."""
    text = orjson.dumps(changes.apply(registry_rows())).decode()
    settings = Settings(credentials=(GRANT,))
    loaded = load_registry(
        (), adapters={"fake": adapter}, settings=settings, compile_schema=compile_schema, builtin={"rows.yaml": text}
    )
    assert loaded.catalogue is not None, loaded.problems
    return loaded.catalogue


class Silence:
    """An `Announcement` that keeps what it was told."""

    def __init__(self) -> None:
        self.call_id = ""
        self.has_ended = False

    def begin(self, call_id: str) -> None:
        """Keep the id."""
        self.call_id = call_id

    def end(self) -> None:
        """Keep that it ended."""
        self.has_ended = True


class _Steps:
    """Stands before every part of the path and writes down that it was asked."""

    def __init__(self, road: "Road", journal: Journal, sink: Sink, tenants: Tenants) -> None:
        self._road = road
        self._journal = journal
        self._sink = sink
        self._tenants = tenants
        self._keys: Keys = tenants.of("")

    def of(self, tenant: str) -> "_Steps":
        """The keys of one tenant."""
        one = _Steps(self._road, self._journal, self._sink, self._tenants)
        one._keys = self._tenants.of(tenant)
        return one

    @property
    def is_held(self) -> bool:
        """The keys' own."""
        return self._keys.is_held

    @property
    def is_healthy(self) -> bool:
        """The sink's own."""
        return self._sink.is_healthy

    def begin(self, begin: Begin) -> None:
        """Begin."""
        self._road.saw("begin")
        self._journal.begin(begin)

    async def sync(self) -> None:
        """Before step 10."""
        self._road.saw("claim")
        await self._journal.sync()

    def forget(self, kind: str, call_id: str) -> None:
        """Of a call that another closed."""
        self._journal.forget(kind, call_id)

    async def append(self, line: Line) -> None:
        """Step 14."""
        self._road.saw("audit")
        await self._sink.append(line)

    async def look(self, key: str) -> Known | None:
        """Step 6."""
        self._road.saw("idempotency")
        return await self._keys.look(key)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Step 10, which was seen when the journal was synced."""
        return await self._keys.claim(claim, intent)

    async def settle(self, claim: Claim, result: Result | None) -> Whose:
        """After step 13."""
        return await self._keys.settle(claim, result)

    async def release(self, claim: Claim) -> Whose:
        """After a failure in which nothing happened."""
        return await self._keys.release(claim)

    async def leave_unknown(self, claim: Claim) -> Whose:
        """After a failure of which nobody knows."""
        return await self._keys.leave_unknown(claim)

    async def whose(self, claim: Claim) -> Whose:
        """The keys' own."""
        return await self._keys.whose(claim)


class _SeenApprovals:
    """Step 8, written down."""

    def __init__(self, road: "Road") -> None:
        self._road = road

    async def park(self, parked: Parked) -> Pending:
        """What the approvals say."""
        self._road.saw("approvals")
        return await self._road.approvals.park(parked)

    async def state(self, tenant: str, approval_id: str) -> Pending | Failure:
        """What the approvals say."""
        return await self._road.approvals.state(tenant, approval_id)

    async def use(self, approved: Approved, use: ApprovalUse, now: float) -> None:
        """What the approvals say."""
        await self._road.approvals.use(approved, use, now)


class NoRuns:
    """`FindRun`: no run was ever opened."""

    async def find(self, tenant: str, agent: str, run_id: str) -> OpenRun | None:
        """None."""
        return None


@dataclass
class ListHalts:
    """`Halts`: stops the tools that it lists. While it `is_unknown` what is stopped, no write passes."""

    tools: set[str] = field(default_factory=set)
    is_unknown: bool = False

    def check(self, principal: Principal, entry: Entry) -> None:
        """Raise for a tool on the list."""
        if entry.tool.name in self.tools:
            raise Refusal(Reason.STOPPED, "An operator has stopped this tool.")
        if self.is_unknown and entry.tool.has_effect:
            raise Refusal(Reason.REGISTRY_UNAVAILABLE, "It is not known what is stopped.", fault=Fault.TIMEOUT)


class _SeenEngine:
    """Step 7, written down."""

    name = "fake"

    def __init__(self, road: "Road") -> None:
        self._road = road

    @property
    def revision(self) -> str:
        """The engine's own."""
        return self._road.engine.revision

    async def decide(self, input_json: bytes) -> Decision:
        """What the engine says."""
        self._road.saw("policy")
        return await self._road.engine.decide(input_json)


class _SeenSource:
    """Step 11, written down."""

    def __init__(self, road: "Road") -> None:
        self._road = road

    async def resolve(self, tenant: str, name: str) -> Secret:
        """What the source says."""
        self._road.saw("credentials")
        await self._road.source_gate()
        return await self._road.source.resolve(tenant, name)


class _SeenLender:
    """Step 11 by a lender, written down."""

    def __init__(self, road: "Road", lender: FakeLender) -> None:
        self._road = road
        self._lender = lender

    async def lend(self, tenant: str, name: str, seconds: float) -> Lent:
        """What the lender says."""
        self._road.saw("credentials")
        await self._road.source_gate()
        return await self._lender.lend(tenant, name, seconds)


class _SeenLimiter:
    """Step 9, written down."""

    def __init__(self, road: "Road") -> None:
        self._road = road

    async def take(self, checks: Any) -> tuple[int, float]:
        """What the limiter says."""
        self._road.saw("limits")
        await self._road.limiter_gate()
        return await self._road.limiter.take(checks)


async def _open() -> None:
    """A gate that is open."""


class PreviewAdapter(FakeAdapter):
    """A `FakeAdapter` whose operations can show what they would change: `shown`, or it is raised."""

    def __init__(self, shown: Any = None) -> None:
        super().__init__()
        self.shown = shown if shown is not None else {"was": "a", "will_be": "b"}
        self.previews: list[Invocation] = []
        self.operations = {
            name: replace(operation, preview=self._preview) for name, operation in self.operations.items()
        }

    async def _preview(self, invocation: Invocation) -> Any:
        self.previews.append(invocation)
        if isinstance(self.shown, BaseException):
            raise self.shown
        return self.shown


@dataclass
class Road:
    """A path to call along. Change its parts before a call, and look at what they saw after it."""

    disk: Disk = field(default_factory=Disk)
    clock: FakeClock = field(default_factory=FakeClock)
    adapter: FakeAdapter = field(default_factory=FakeAdapter)
    engine: Engine = field(default_factory=FakeEngine)
    source: FakeSource = field(default_factory=lambda: FakeSource({"FAKE_TOKEN": TOKEN}))
    limits: LimitSettings = WIDE
    lender: FakeLender | None = None
    """In the place of `source`, when given."""
    grants: tuple[CredentialGrant, ...] = (GRANT,)
    caller: Principal = field(default_factory=principal)
    max_argument_bytes: int = 64 * 1024
    max_call_seconds: float = 30.0
    journal: Journal | None = None
    """These two take the place of those over `disk`, when given."""
    sink: Sink | None = None
    keys: Tenants = field(default_factory=DictTenants)
    """The store, which a restart leaves as it is."""
    budget: DictBudget | None = None
    halts: ListHalts = field(default_factory=ListHalts)
    rows: RowChanges = field(default_factory=RowChanges)
    tariffs: Tariffs = field(default_factory=Tariffs)
    runs: FindRun = field(default_factory=NoRuns)
    seen: list[str] = field(default_factory=list)
    """The steps that were asked for anything, in order."""
    limiter_gate: Callable[[], Awaitable[None]] = _open
    source_gate: Callable[[], Awaitable[None]] = _open
    """What limiter and source wait for."""
    approvals: Any = None
    """In memory, over the keys, when none are given."""
    metrics: Metrics = field(default_factory=Metrics)
    announced: Silence = field(default_factory=Silence)
    """What the last call announced."""
    _hooks: dict[str, Callable[[], None]] = field(default_factory=dict)

    def hook(self, step: str, do: Callable[[], None]) -> None:
        """Do this, once, when the step is next asked for anything."""
        self._hooks[step] = do

    def saw(self, step: str) -> None:
        """The step was asked."""
        self.seen.append(step)
        if step in self._hooks:
            self._hooks.pop(step)()

    def open(self) -> None:
        """Build everything. A second time is a restart: only the disk and the store are as they were."""
        self.budget = self.budget or DictBudget(self.clock)
        if isinstance(self.keys, DictTenants):
            self.keys.budget = self.budget
            self.approvals = self.approvals or ListApprovals(self.keys)
        self.limiter = FakeLimiter(self.clock.monotonic)
        caller = self.limits.caller
        self.admission = Admission(
            take=FakeLimiter(self.clock.monotonic).take,
            rate=Rate(per_minute=caller.per_minute, burst=caller.burst),
            max_in_flight=self.limits.max_in_flight,
        )
        self.audit: Audit = opened(self.disk, self.clock, active=self.admission.active)
        self.load()
        self._prepare, self.adapter.prepare = self.adapter.prepare, self._seen_prepare
        self.pipeline = Pipeline(self._parts())

    def load(self) -> None:
        """Take over the rows as they are by now."""
        self.catalogue = catalogue_of(self.adapter, self.rows)

    def _parts(self) -> Parts:
        journal, sink = self.journal or self.audit.journal, self.sink or self.audit.sink
        steps = _Steps(self, journal, sink, self.keys)
        self.late = LateLines(journal, sink)
        ids = iter(range(1, 1_000_000))
        first = len(written(self.disk))
        return Parts(
            admission=self.admission,
            journal=steps,
            sink=steps,
            catalogue=self._find,
            keys=steps,
            engine=_SeenEngine(self),
            late=self.late,
            halts=self.halts,
            charging=Charging(self.tariffs, self.runs),
            budget=self.budget,
            approvals=_SeenApprovals(self),
            limits=Limits(_SeenLimiter(self), self.limits),
            credentials=self._resolver(),
            metrics=self.metrics,
            clock=self.clock,
            new_id=lambda: f"call-{first + next(ids)}",
            max_argument_bytes=self.max_argument_bytes,
            max_call_seconds=self.max_call_seconds,
        )

    def _resolver(self) -> Resolver:
        if self.lender is not None:
            return Resolver({}, self.grants, {"env": _SeenLender(self, self.lender)})
        return Resolver({"env": _SeenSource(self)}, self.grants)

    def _find(self) -> Catalogue:
        self.saw("registry")
        return self.catalogue

    def _seen_prepare(self, value: dict[str, Any]) -> dict[str, Any]:
        self.saw("arguments")
        return self._prepare(value)

    async def restart(self) -> None:
        """The process ends in order, and another one begins."""
        await self.audit.close()
        self.adapter.prepare = self._prepare
        self.open()

    async def call(
        self, tool: str = "echo", arguments: str | bytes = '{"text":"hi"}', caller: Principal | None = None, **more: Any
    ) -> Answer:
        """Call along the path, as a surface does. `key` and the other fields of `Request` by name."""
        self.announced = Silence()
        with self.admission.room:
            return await self.pipeline.call(caller or self.caller, request(tool, arguments, **more), self.announced)

    async def explain(
        self, tool: str = "echo", arguments: str | bytes = '{"text":"hi"}', caller: Principal | None = None, **more: Any
    ) -> Explanation:
        """Explain along the path."""
        with self.admission.room:
            return await self.pipeline.explain(caller or self.caller, request(tool, arguments, **more), Silence())

    async def execute(self, approved: Approved) -> Answer:
        """Carry out what was approved, as whoever runs approved calls does."""
        self.announced = Silence()
        return await self.pipeline.execute(approved, self.announced)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every audit line on the disk, oldest first."""
        return written(self.disk)

    @property
    def effects(self) -> int:
        """How often the vendor was asked."""
        return len(self.adapter.invocations)


def request(tool: str, arguments: str | bytes, *, key: str = "", **more: Any) -> Request:
    """What a surface makes of such a call."""
    raw = arguments if isinstance(arguments, bytes) else arguments.encode("utf-8", "surrogatepass")
    return Request(tool=tool, arguments_json=raw, idempotency_key=key, **more)


@asynccontextmanager
async def road(one: Road | None = None, **changes: Any) -> AsyncIterator[Road]:
    """A road that is open, and closed in the end."""
    one = one or Road(**changes)
    one.open()
    try:
        yield one
    finally:
        one.disk.room = one.disk.sync_error = None
        if one.disk.held is not None:
            one.disk.held.set()
        await one.audit.close()


async def ended(task: "asyncio.Task[Any]") -> BaseException | None:
    """What a task raised in the end."""
    try:
        await task
    except BaseException as error:  # noqa: BLE001 - that is what is asked for
        return error
    return None
