"""Handles over a real store, a vendor that obeys a test, and a short way in the place of the whole path."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Happened, Invocation, Operation, Output, SideEffect, Target
from fakes.adapter import FakeAdapter
from fakes.clock import FakeClock
from fakes.keys import DictKeys
from fakes.limiter import FakeLimiter
from fakes.principals import principal
from fakes.rows import connection, tool
from fakes.seal import FakeSeal
from gateway.admission import Admission
from gateway.call import (
    Answer,
    Arguments,
    Explanation,
    Failure,
    Outcome,
    Pending,
    PendingState,
    Principal,
    Request,
    Result,
)
from gateway.errors import Reason, Refusal
from gateway.handles.handles import HandleParts, Handles
from gateway.handles.kept import KeptCalls
from gateway.idempotency.keys import scoped_key
from gateway.invocation import invoke
from gateway.rows import Connection, Rate, Tool
from gateway.settings.handles import HandleSettings
from gateway.settings.store import StoreSettings
from gateway.store.database import Database


@dataclass
class FakeCourse:
    """What a trail tells of a call at work."""

    effect_id: str
    key: str = ""
    step: str = "begin"
    tool: Tool | None = None
    connection: Connection | None = None
    arguments: Arguments | None = None
    happened: Happened | None = None
    progress: tuple[float, float | None] | None = None


class Heard:
    """An `Announcement` that keeps what it was told."""

    def __init__(self) -> None:
        self.call_id = ""
        self.has_ended = False

    def begin(self, call_id: str) -> None:
        """Keep the id."""
        self.call_id = call_id

    def follow(self, course: Any) -> None:
        """Nobody asks here how it stands."""

    def end(self) -> None:
        """Keep that it ended."""
        self.has_ended = True


def request_of(tool_name: str = "echo", *, key: str = "", **more: Any) -> Request:
    """What a surface makes of such a call."""
    return Request(tool=tool_name, arguments_json=b"{}", idempotency_key=key, **more)


TOOLS = {
    "echo": tool(),
    "note": tool(name="note", side_effect=SideEffect.WRITE),
}


class ShortPath:
    """`Calls`: a call is looked up, waits at `before` when there is one, and asks the vendor. `parks` has it wait for
    a person instead, and `refuses` has it refused before it begins.
    """

    def __init__(self, adapter: FakeAdapter) -> None:
        self.adapter = adapter
        self.before: asyncio.Event | None = None
        self.parks: Pending | None = None
        self.refuses: Refusal | None = None
        self.arrived = asyncio.Event()
        """Set when a call waits at `before`."""
        self.ids = itertools.count(1)
        self.prefix = "c"

    async def call(self, caller: Principal, request: Request, announcement: Any) -> Answer:
        """Carry it out."""
        if self.refuses is not None:
            raise self.refuses
        row = TOOLS[request.tool]
        operation = self.adapter.operations["write" if row.has_effect else "echo"]
        course = self._course(caller, request, row)
        announcement.begin(course.effect_id)
        interrupt = announcement.follow(course)
        course.step = "policy"
        if self.before is not None:
            self.arrived.set()
            await self.before.wait()
        outcome = self.parks or await self._asked(course, operation, row, interrupt)
        announcement.end()
        return Answer(call_id=course.effect_id, effect_id=course.effect_id, outcome=outcome)

    async def explain(self, caller: Principal, request: Request, announcement: Any) -> Explanation:
        """Nothing is decided here."""
        return Explanation(call_id="explained", decision=None, failure=None)

    def _course(self, caller: Principal, request: Request, row: Tool) -> FakeCourse:
        course = FakeCourse(f"{self.prefix}{next(self.ids)}", tool=row, connection=connection())
        if request.idempotency_key:
            course.key = scoped_key(caller.tenant, caller.agent, row.name, request.idempotency_key)
        course.arguments = Arguments(value={}, canonical=b"{}", digest="sha256:aa")
        return course

    async def _asked(self, course: FakeCourse, operation: Operation, row: Tool, interrupt: Any) -> Outcome:
        course.step, has_effect = "adapter", row.has_effect
        invocation = Invocation(
            arguments={}, target=Target(name="t"), credential=None, deadline=0, effect_id=course.effect_id
        )
        course.happened = Happened.UNKNOWN if has_effect else None
        attempt = await invoke(operation, invocation, seconds=30, has_effect=has_effect, interrupt=interrupt)
        course.happened = attempt.happened if has_effect else None
        if attempt.refusal is not None:
            return Failure.of(attempt.refusal)
        output = attempt.output or Output()
        return Result(content=output.content, structured_json=b"", receipt=output.receipt)


class OneKeys:
    """`Tenants` of one tenant alone."""

    def __init__(self) -> None:
        self.one = DictKeys()

    def of(self, tenant: str) -> DictKeys:
        """Its keys."""
        assert tenant == "acme"
        return self.one


@dataclass
class FakeParked:
    """Approvals that stand as a test says; one that is unknown waits for a person."""

    states: dict[str, Pending | Failure] = field(default_factory=dict)
    withdrawn: list[str] = field(default_factory=list)
    is_late: bool = False

    async def state(self, tenant: str, approval_id: str) -> Pending | Failure:
        """How it stands."""
        waiting = Pending(approval_id=approval_id, message="Wait.", state=PendingState.APPROVAL)
        return self.states.get(approval_id, waiting)

    async def withdraw(self, tenant: str, approval_id: str) -> bool:
        """Nobody is asked any more, unless it is late."""
        if self.is_late:
            return False
        self.withdrawn.append(approval_id)
        self.states[approval_id] = Failure(reason=Reason.APPROVAL_WITHDRAWN, message="Withdrawn.")
        return True


@dataclass
class Replica:
    """One gateway's handles over a database."""

    database: Database
    clock: FakeClock
    adapter: FakeAdapter = field(default_factory=FakeAdapter)
    seal: FakeSeal = field(default_factory=FakeSeal)
    keys: OneKeys = field(default_factory=OneKeys)
    parked: FakeParked = field(default_factory=FakeParked)
    writer: str = "w1"
    settings: HandleSettings = field(default_factory=HandleSettings)
    max_in_flight: int = 100

    def __post_init__(self) -> None:
        self.path = ShortPath(self.adapter)
        self.path.prefix = f"{self.writer}-"
        self.admission = Admission(
            take=FakeLimiter(self.clock.monotonic).take,
            rate=Rate(per_minute=60_000, burst=10_000),
            max_in_flight=self.max_in_flight,
        )
        self.kept = KeptCalls(
            self.database, writer=self.writer, clock=self.clock, seal=self.seal, settings=self.settings
        )
        parts = HandleParts(
            calls=self.path,
            kept=self.kept,
            keys=self.keys,
            parked=self.parked,
            admission=self.admission,
            clock=self.clock,
            settings=self.settings,
        )
        self.handles = Handles(parts)
        self.caller = principal()

    async def call(
        self,
        name: str = "echo",
        *,
        yield_after_ms: int = 0,
        caller: Principal | None = None,
        announced: Heard | None = None,
        **more: Any,
    ) -> Answer:
        """Call as a surface does, which holds a place for as long as its caller waits."""
        request = request_of(name, yield_after_ms=yield_after_ms, **more)
        with self.admission.room:
            return await self.handles.call(caller or self.caller, request, announced or Heard())

    async def yielded(self, name: str = "echo", **more: Any) -> Answer:
        """A call of which only the handle came back: its vendor waits for `adapter.gate`."""
        self.adapter.gate = self.adapter.gate or asyncio.Event()
        answer = await self.call(name, yield_after_ms=1, **more)
        assert isinstance(answer.outcome, Pending), answer
        return answer

    async def settled(self) -> None:
        """Returns when nothing is at work here any more."""
        while self.handles._tasks:
            await asyncio.wait(tuple(self.handles._tasks))


@asynccontextmanager
async def replica(store: StoreSettings, clock: FakeClock | None = None, **more: Any) -> AsyncIterator[Replica]:
    """A replica over this database, ended in the end."""
    clock = clock or FakeClock()
    database = Database(store, clock)
    one = Replica(database, clock, **more)
    try:
        yield one
    finally:
        if one.adapter.gate is not None:
            one.adapter.gate.set()
        await one.handles.stop(seconds=5)
        await database.close()
