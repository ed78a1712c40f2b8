"""The whole path: every step the real one, between an engine, a vendor, a limiter, a source and a disk
that obey a test.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.base import Fault, Invocation
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
from fakes.path_rows import GRANT, HIDDEN, TOKEN, WIDE, RowChanges, catalogue_of, registry_rows
from fakes.principals import principal
from fakes.seen import SeenApprovals, SeenEngine, SeenLender, SeenLimiter, SeenParts, SeenSource
from gateway.admission import Admission
from gateway.approvals.base import Approved
from gateway.audit.base import Journal, Sink
from gateway.audit.late import LateLines
from gateway.audit.open import Audit
from gateway.audit.trail import Trail
from gateway.budget.base import FindRun, OpenRun
from gateway.budget.charging import Charging
from gateway.budget.tariffs import Tariffs
from gateway.call import (
    Answer,
    Explanation,
    Principal,
    Request,
)
from gateway.credentials.resolver import Resolver
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Tenants
from gateway.metrics.counts import Metrics
from gateway.parts import Parts
from gateway.pipeline import Pipeline
from gateway.policy.base import Engine
from gateway.ratelimit.limits import Limits
from gateway.registry.catalogue import Catalogue, Entry
from gateway.rows import Rate
from gateway.settings.limits import LimitSettings
from gateway.settings.parts import CredentialGrant

__all__ = [
    "GRANT",
    "HIDDEN",
    "TOKEN",
    "WIDE",
    "ListHalts",
    "NoRuns",
    "PreviewAdapter",
    "Road",
    "RowChanges",
    "Silence",
    "ended",
    "registry_rows",
    "request",
    "road",
]


class Silence:
    """An `Announcement` that keeps what it was told."""

    def __init__(self) -> None:
        self.call_id = ""
        self.has_ended = False

    def begin(self, call_id: str) -> None:
        """Keep the id."""
        self.call_id = call_id

    def follow(self, trail: Trail) -> None:
        """Nobody asks here how it stands."""

    def end(self) -> None:
        """Keep that it ended."""
        self.has_ended = True


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
        steps = SeenParts(self, journal, sink, self.keys)
        self.late = LateLines(journal, sink)
        ids = iter(range(1, 1_000_000))
        first = len(written(self.disk))
        return Parts(
            admission=self.admission,
            journal=steps,
            sink=steps,
            catalogue=self._find,
            keys=steps,
            engine=SeenEngine(self),
            late=self.late,
            halts=self.halts,
            charging=Charging(self.tariffs, self.runs),
            budget=self.budget,
            approvals=SeenApprovals(self),
            limits=Limits(SeenLimiter(self), self.limits),
            credentials=self._resolver(),
            metrics=self.metrics,
            clock=self.clock,
            new_id=lambda: f"call-{first + next(ids)}",
            keep=lambda _caller, _whole: "",
            seen=lambda _tenant, _connection, _reason: None,
            max_argument_bytes=self.max_argument_bytes,
            max_call_seconds=self.max_call_seconds,
        )

    def _resolver(self) -> Resolver:
        if self.lender is not None:
            return Resolver({}, self.grants, {"env": SeenLender(self, self.lender)})
        return Resolver({"env": SeenSource(self)}, self.grants)

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
