"""What the path is made of, and what it needs of those who call along it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from adapters.base import Clock
from gateway.admission import Admission
from gateway.approvals.base import Approvals
from gateway.asserting import Asserting, unasserted
from gateway.audit.base import Journal, Sink
from gateway.audit.late import LateLines
from gateway.audit.trail import Trail
from gateway.budget.base import Budget
from gateway.budget.charging import Charging
from gateway.call import Answer, Explanation, Principal, Request
from gateway.credentials.resolver import Resolver
from gateway.errors import Reason
from gateway.idempotency.base import Tenants
from gateway.interrupt import Interrupt
from gateway.metrics.counts import Metrics
from gateway.policy.base import Engine
from gateway.ratelimit.limits import Limits
from gateway.registry.catalogue import Catalogue, Entry


class Announcement(Protocol):
    """Tells the caller the call's id while it waits for the answer."""

    def begin(self, call_id: str) -> None:
        """The call is in the journal. Its id goes out as soon as the call has to wait for anything outside."""
        ...

    def follow(self, trail: Trail) -> Interrupt | None:
        """The call's trail, for whoever asks how it stands. What comes back stops the call; None when nobody can."""
        ...

    def end(self) -> None:
        """The answer is about to leave and carries the id itself."""
        ...


class Calls(Protocol):
    """What a surface hands calls to: a `Pipeline`, or something that holds the one of the moment."""

    def call(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Answer]:
        """Carry out one call (see `Pipeline.call`)."""
        ...

    def explain(self, principal: Principal, request: Request, announcement: Announcement) -> Awaitable[Explanation]:
        """Say what a call would get (see `Pipeline.explain`)."""
        ...


class Halts(Protocol):
    """What operators have stopped, and whether it is known."""

    def check(self, principal: Principal, entry: Entry) -> None:
        """Raises `Refusal`: `stopped`, or `registry_unavailable` for a write while nobody knows what is stopped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the path is made of. `app.py` chooses each."""

    admission: Admission
    journal: Journal
    sink: Sink
    catalogue: Callable[[], Catalogue]
    keys: Tenants
    late: LateLines
    halts: Halts
    charging: Charging
    budget: Budget
    engine: Engine
    approvals: Approvals
    limits: Limits
    credentials: Resolver
    seen: Callable[[str, str, Reason | None], None]
    """Hears how the account behind a connection answered."""
    metrics: Metrics
    clock: Clock
    new_id: Callable[[], str]
    keep: Callable[[Principal, bytes], str]
    """Keeps whole for a while what was too large to be sent (see `gateway.result.artifacts.Artifacts.keep`)."""
    max_argument_bytes: int
    max_call_seconds: float
    asserting: Asserting = unasserted
