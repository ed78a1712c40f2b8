"""What stands before the parts of a path and writes down which of them was asked."""

from collections.abc import Awaitable
from typing import Any, Protocol

from adapters.base import Secret
from fakes.credentials import FakeLender, FakeSource
from gateway.approvals.base import Approved, Parked
from gateway.audit.base import Begin, Journal, Line, Sink
from gateway.call import ApprovalUse, Decision, Failure, Known, Pending, Result, Whose
from gateway.credentials.base import Lent
from gateway.idempotency.base import Claim, Keys, Tenants
from gateway.policy.base import Engine


class Watched(Protocol):
    """The path whose parts they are: each is looked up when it is asked, so that a test may change it."""

    engine: Engine
    source: FakeSource
    limiter: Any
    approvals: Any

    def saw(self, step: str) -> None:
        """The step was asked."""
        ...

    def limiter_gate(self) -> Awaitable[None]:
        """What the limiter waits for."""
        ...

    def source_gate(self) -> Awaitable[None]:
        """What the source waits for."""
        ...


class SeenParts:
    """Stands before every part of the path and writes down that it was asked."""

    def __init__(self, road: Watched, journal: Journal, sink: Sink, tenants: Tenants) -> None:
        self._road = road
        self._journal = journal
        self._sink = sink
        self._tenants = tenants
        self._keys: Keys = tenants.of("")

    def of(self, tenant: str) -> "SeenParts":
        """The keys of one tenant."""
        one = SeenParts(self._road, self._journal, self._sink, self._tenants)
        one._keys = self._tenants.of(tenant)
        return one

    def holds(self, claim: Claim) -> bool:
        """The keys' own."""
        return self._keys.holds(claim)

    def is_owed(self, claim: Claim) -> bool:
        """The keys' own."""
        return self._keys.is_owed(claim)

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


class SeenApprovals:
    """Step 8, written down."""

    def __init__(self, road: Watched) -> None:
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


class SeenEngine:
    """Step 7, written down."""

    name = "fake"

    def __init__(self, road: Watched) -> None:
        self._road = road

    @property
    def revision(self) -> str:
        """The engine's own."""
        return self._road.engine.revision

    async def decide(self, input_json: bytes) -> Decision:
        """What the engine says."""
        self._road.saw("policy")
        return await self._road.engine.decide(input_json)


class SeenSource:
    """Step 11, written down."""

    def __init__(self, road: Watched) -> None:
        self._road = road

    async def resolve(self, tenant: str, name: str) -> Secret:
        """What the source says."""
        self._road.saw("credentials")
        await self._road.source_gate()
        return await self._road.source.resolve(tenant, name)


class SeenLender:
    """Step 11 by a lender, written down."""

    def __init__(self, road: Watched, lender: FakeLender) -> None:
        self._road = road
        self._lender = lender

    async def lend(self, tenant: str, name: str, seconds: float) -> Lent:
        """What the lender says."""
        self._road.saw("credentials")
        await self._road.source_gate()
        return await self._lender.lend(tenant, name, seconds)


class SeenLimiter:
    """Step 9, written down."""

    def __init__(self, road: Watched) -> None:
        self._road = road

    async def take(self, checks: Any) -> tuple[int, float]:
        """What the limiter says."""
        self._road.saw("limits")
        await self._road.limiter_gate()
        return await self._road.limiter.take(checks)
