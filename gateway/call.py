"""What travels along the path: the caller, the request, the decision, the outcome. All of it frozen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from adapters.base import ArgumentIssue, Binary, Fault, Text
from gateway.errors import CODE_OF, Code, PolicyReason, Reason, Refusal


class CallerKind(StrEnum):
    """Who is behind a call."""

    AGENT = "agent"
    WORKFLOW = "workflow"
    HUMAN = "human"


class Step(StrEnum):
    """The steps of the path, in order."""

    ADMISSION = "admission"
    BEGIN = "begin"
    REGISTRY = "registry"
    SCOPES = "scopes"
    ARGUMENTS = "arguments"
    IDEMPOTENCY = "idempotency"
    POLICY = "policy"
    APPROVALS = "approvals"
    LIMITS = "limits"
    CLAIM = "claim"
    CREDENTIALS = "credentials"
    ADAPTER = "adapter"
    RESULT = "result"
    AUDIT = "audit"


class Surface(StrEnum):
    """The edge that a call came in by."""

    GRPC = "grpc"

    __hash__ = str.__hash__  # an enum's own is Python code, and this one is a key on the path of every call


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who calls, as the listener and its proof say. Nothing in it comes from the request."""

    tenant: str
    id: str
    kind: CallerKind
    agent: str
    scopes: frozenset[str]
    roles: frozenset[str]
    claims: Mapping[str, Any]
    proof: str
    """How it was proved: `socket`, `jwt`, `mtls` or `none`."""
    policy_json: bytes = field(repr=False, compare=False)
    """This principal as policy sees it, serialised once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was asked, unparsed."""

    tool: str
    arguments_json: bytes = field(repr=False)
    idempotency_key: str = field(default="", repr=False)
    run_id: str = ""
    step_id: str = ""
    mode: str = ""
    surface: Surface = Surface.GRPC
    timeout_seconds: float | None = None
    """What the caller is willing to wait; None when it did not say."""
    yield_after_ms: int = 0
    """After how long the caller wants a handle instead; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments after `prepare`: the one form that policy, hash, approver and vendor see."""

    value: Mapping[str, Any] = field(repr=False)
    canonical: bytes = field(repr=False)
    """RFC 8785 over `value`."""
    digest: str
    """`sha256:` and the lower-case hex digest of `canonical`."""


class DecisionEffect(StrEnum):
    """What policy says."""

    ALLOW = "allow"
    DENY = "deny"
    REQUIRE_APPROVAL = "require_approval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """Something that must be done for an allow to stand. `type` is one of the known ones."""

    type: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A well-formed answer of a policy engine. There is no other kind."""

    effect: DecisionEffect
    reasons: tuple[PolicyReason, ...]
    obligations: tuple[Obligation, ...]
    revision: str


class BudgetScope(StrEnum):
    """Whose counter a charge is taken from."""

    TENANT = "tenant"
    AGENT = "agent"
    AGENT_DAY = "agent_day"
    RUN = "run"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one call takes from one counter, and how much the counter may hold."""

    scope: BudgetScope
    name: str
    """Whose: the tenant's, agent's or tool's name, or agent and run."""
    unit: str
    """Of what: `EUR` and the like in minor units, `calls`, `recipients`, …"""
    period: str
    """The window, e.g. `2026-11-30` or `2026-11-30T14:05/300`; empty: for ever."""
    amount: int
    limit: int
    expires_at: float | None
    """When nobody needs the counter any more, in seconds since the epoch."""
    is_cap: bool = False
    """A frequency cap is told as `cap_reached`, money and counts as `budget_spent`."""
    told: str = ""
    """What a caller is told when it is too much: one sentence, safe for a model."""

    def refusal(self, now: float) -> Refusal:
        """What stops a call for which this is too much; when to come back, if waiting helps."""
        # 1. By itself beyond the limit: for ever.  2. A run's counter ends with the run, and so does the call's sense.
        is_in_vain = self.amount > self.limit or self.scope is BudgetScope.RUN
        seconds = 0.0 if is_in_vain or self.expires_at is None else self.expires_at - now
        reason = Reason.CAP_REACHED if self.is_cap else Reason.BUDGET_SPENT
        return Refusal(reason, self.told, retry_after_ms=max(0, math.ceil(seconds * 1000)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalUse:
    """An approval, and what it has to be for: it covers exactly what runs."""

    approval_id: str
    arguments_digest: str
    tool_version: str
    connection: str


class Standing(StrEnum):
    """Where the effect of an idempotency key stands."""

    IN_PROGRESS = "in_progress"
    PARKED = "parked"
    DONE = "done"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """What was cut out of a result."""

    limit: str
    original_bytes: int
    kept_bytes: int
    paths: tuple[str, ...] = ()
    is_at_least: bool = False
    artifact_id: str = ""
    """Where the whole is kept for a while; empty when it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A call that was carried out."""

    content: tuple[Text | Binary, ...] = field(repr=False)
    structured_json: bytes = field(repr=False)
    receipt: str = field(repr=False)
    truncation: Truncation | None = None
    labels: tuple[str, ...] = ()
    redacted_paths: tuple[str, ...] = ()
    scrubbed: int = 0
    """How many times a credential was found and taken out; it goes to the line, not to the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A call that was stopped, as data."""

    reason: Reason
    message: str
    issues: tuple[ArgumentIssue, ...] = ()
    policy_reasons: tuple[PolicyReason, ...] = ()
    retry_after_ms: int = 0
    fault: Fault | None = None

    @property
    def code(self) -> Code:
        """The class of this failure."""
        return CODE_OF[self.reason]

    @classmethod
    def of(cls, refusal: Refusal) -> "Failure":
        """The refusal, as data."""
        return cls(
            reason=refusal.reason,
            message=refusal.message,
            issues=refusal.issues,
            policy_reasons=refusal.policy_reasons,
            retry_after_ms=refusal.retry_after_ms,
            fault=refusal.fault,
        )


class PendingState(StrEnum):
    """What a call waits for."""

    APPROVAL = "approval"
    """A person. Nothing was done."""
    RUNNING = "running"
    """Itself: it is being carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A call that has not ended yet."""

    approval_id: str
    """Empty when it waits for no person."""
    message: str
    policy_reasons: tuple[PolicyReason, ...] = ()
    state: PendingState = PendingState.APPROVAL


Outcome = Result | Failure | Pending


class Whose(StrEnum):
    """Whose the line of a claim is, once it is settled."""

    OURS = "ours"
    ANOTHERS = "anothers"
    """We were taken for gone: another replica closed the claim, and has written the line of the call."""
    UNTOLD = "untold"
    """Nobody can tell now: our lease is over, and the store does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is remembered of an idempotency key."""

    standing: Standing
    call_id: str
    effect_id: str
    arguments_digest: str
    result: Result | None = None
    """The first result, while it is still held."""
    approval_id: str = ""
    """What a parked one waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back to the caller."""

    call_id: str
    effect_id: str
    outcome: Outcome
    is_replay: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What a call would get. `failure` is None when it would run or be parked."""

    call_id: str
    decision: Decision | None
    failure: Failure | None
