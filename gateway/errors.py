"""The closed set of ways in which a call is stopped.

`Reason` and `Code` mirror the proto enums name by name (a test holds them equal). Nothing else may
stop a call: whatever a part raises becomes a `Refusal` in the file that imports that part.
"""

from dataclasses import dataclass
from enum import StrEnum

from adapters.base import ArgumentIssue, Fault

MESSAGE_BYTES = 512
"""A message longer than this is cut: a long gRPC status text turns into another status."""


class Code(StrEnum):
    """What a caller can do about it."""

    PERMISSION_DENIED = "permission_denied"
    NOT_FOUND = "not_found"
    VALIDATION_FAILED = "validation_failed"
    CONFLICT = "conflict"
    PRECONDITION_FAILED = "precondition_failed"
    BUDGET_EXCEEDED = "budget_exceeded"
    RATE_LIMITED = "rate_limited"
    PROVIDER_ERROR = "provider_error"
    UNAVAILABLE = "unavailable"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    OUTCOME_UNKNOWN = "outcome_unknown"
    INTERNAL_ERROR = "internal_error"


class Reason(StrEnum):
    """The one part or rule that stopped the call."""

    CALLER_RATE = "caller_rate"
    JOURNAL_UNAVAILABLE = "journal_unavailable"
    AUDIT_UNAVAILABLE = "audit_unavailable"
    TOOL_NOT_FOUND = "tool_not_found"
    REGISTRY_UNAVAILABLE = "registry_unavailable"
    STOPPED = "stopped"
    SCOPE_MISSING = "scope_missing"
    CLAIM_MISSING = "claim_missing"
    ROLE_MISSING = "role_missing"
    MODE_NOT_ALLOWED = "mode_not_allowed"
    ARGUMENTS_TOO_LARGE = "arguments_too_large"
    ARGUMENTS_MALFORMED = "arguments_malformed"
    ARGUMENTS_INVALID = "arguments_invalid"
    KEY_REQUIRED = "key_required"
    KEY_INVALID = "key_invalid"
    KEY_REUSED = "key_reused"
    KEY_IN_PROGRESS = "key_in_progress"
    KEY_DONE = "key_done"
    STORE_UNAVAILABLE = "store_unavailable"
    POLICY_DENIED = "policy_denied"
    POLICY_UNDEFINED = "policy_undefined"
    POLICY_INVALID = "policy_invalid"
    POLICY_UNAVAILABLE = "policy_unavailable"
    POLICY_NOT_LOADED = "policy_not_loaded"
    APPROVALS_UNAVAILABLE = "approvals_unavailable"
    APPROVAL_DENIED = "approval_denied"
    APPROVAL_EXPIRED = "approval_expired"
    APPROVAL_WITHDRAWN = "approval_withdrawn"
    APPROVAL_MISMATCH = "approval_mismatch"
    TENANT_RATE = "tenant_rate"
    AGENT_RATE = "agent_rate"
    TOOL_RATE = "tool_rate"
    CONNECTION_RATE = "connection_rate"
    LIMITER_UNAVAILABLE = "limiter_unavailable"
    BUDGET_SPENT = "budget_spent"
    CAP_REACHED = "cap_reached"
    TOO_MANY_APPROVALS = "too_many_approvals"
    CREDENTIAL_UNAVAILABLE = "credential_unavailable"
    CREDENTIAL_MISSING = "credential_missing"
    CREDENTIAL_NOT_ALLOWED = "credential_not_allowed"
    CONNECTION_NEEDS_AUTHORISATION = "connection_needs_authorisation"
    VENDOR_REFUSED = "vendor_refused"
    VENDOR_NOT_FOUND = "vendor_not_found"
    VENDOR_CONFLICT = "vendor_conflict"
    VENDOR_FORBIDDEN = "vendor_forbidden"
    VENDOR_RATE = "vendor_rate"
    VENDOR_UNAVAILABLE = "vendor_unavailable"
    VENDOR_MALFORMED = "vendor_malformed"
    VENDOR_TOO_LARGE = "vendor_too_large"
    CIRCUIT_OPEN = "circuit_open"
    ADDRESS_REFUSED = "address_refused"
    DEADLINE = "deadline"
    OUTCOME_UNKNOWN = "outcome_unknown"
    CANCELLED = "cancelled"
    ADAPTER_FAILED = "adapter_failed"
    UPSTREAM_CHANGED = "upstream_changed"
    OUTPUT_INVALID = "output_invalid"
    CALL_NOT_FOUND = "call_not_found"
    ARTIFACT_NOT_FOUND = "artifact_not_found"
    INTERNAL = "internal"


CODE_OF: dict[Reason, Code] = {
    Reason.CALLER_RATE: Code.RATE_LIMITED,
    Reason.JOURNAL_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.AUDIT_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.TOOL_NOT_FOUND: Code.NOT_FOUND,
    Reason.REGISTRY_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.STOPPED: Code.PERMISSION_DENIED,
    Reason.SCOPE_MISSING: Code.PERMISSION_DENIED,
    Reason.CLAIM_MISSING: Code.PERMISSION_DENIED,
    Reason.ROLE_MISSING: Code.PERMISSION_DENIED,
    Reason.MODE_NOT_ALLOWED: Code.PERMISSION_DENIED,
    Reason.ARGUMENTS_TOO_LARGE: Code.VALIDATION_FAILED,
    Reason.ARGUMENTS_MALFORMED: Code.VALIDATION_FAILED,
    Reason.ARGUMENTS_INVALID: Code.VALIDATION_FAILED,
    Reason.KEY_REQUIRED: Code.VALIDATION_FAILED,
    Reason.KEY_INVALID: Code.VALIDATION_FAILED,
    Reason.KEY_REUSED: Code.CONFLICT,
    Reason.KEY_IN_PROGRESS: Code.CONFLICT,
    Reason.KEY_DONE: Code.CONFLICT,
    Reason.STORE_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.POLICY_DENIED: Code.PERMISSION_DENIED,
    Reason.POLICY_UNDEFINED: Code.PERMISSION_DENIED,
    Reason.POLICY_INVALID: Code.PERMISSION_DENIED,
    Reason.POLICY_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.POLICY_NOT_LOADED: Code.UNAVAILABLE,
    Reason.APPROVALS_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.APPROVAL_DENIED: Code.PERMISSION_DENIED,
    Reason.APPROVAL_EXPIRED: Code.PRECONDITION_FAILED,
    Reason.APPROVAL_WITHDRAWN: Code.PRECONDITION_FAILED,
    Reason.APPROVAL_MISMATCH: Code.CONFLICT,
    Reason.TENANT_RATE: Code.RATE_LIMITED,
    Reason.AGENT_RATE: Code.RATE_LIMITED,
    Reason.TOOL_RATE: Code.RATE_LIMITED,
    Reason.CONNECTION_RATE: Code.RATE_LIMITED,
    Reason.LIMITER_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.BUDGET_SPENT: Code.BUDGET_EXCEEDED,
    Reason.CAP_REACHED: Code.BUDGET_EXCEEDED,
    Reason.TOO_MANY_APPROVALS: Code.RATE_LIMITED,
    Reason.CREDENTIAL_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.CREDENTIAL_MISSING: Code.PRECONDITION_FAILED,
    Reason.CREDENTIAL_NOT_ALLOWED: Code.PRECONDITION_FAILED,
    Reason.CONNECTION_NEEDS_AUTHORISATION: Code.PRECONDITION_FAILED,
    Reason.VENDOR_REFUSED: Code.PROVIDER_ERROR,
    Reason.VENDOR_NOT_FOUND: Code.NOT_FOUND,
    Reason.VENDOR_CONFLICT: Code.CONFLICT,
    Reason.VENDOR_FORBIDDEN: Code.PERMISSION_DENIED,
    Reason.VENDOR_RATE: Code.RATE_LIMITED,
    Reason.VENDOR_UNAVAILABLE: Code.UNAVAILABLE,
    Reason.VENDOR_MALFORMED: Code.PROVIDER_ERROR,
    Reason.VENDOR_TOO_LARGE: Code.PROVIDER_ERROR,
    Reason.CIRCUIT_OPEN: Code.UNAVAILABLE,
    Reason.ADDRESS_REFUSED: Code.PERMISSION_DENIED,
    Reason.DEADLINE: Code.DEADLINE_EXCEEDED,
    Reason.OUTCOME_UNKNOWN: Code.OUTCOME_UNKNOWN,
    Reason.CANCELLED: Code.UNAVAILABLE,
    Reason.ADAPTER_FAILED: Code.INTERNAL_ERROR,
    Reason.UPSTREAM_CHANGED: Code.PRECONDITION_FAILED,
    Reason.OUTPUT_INVALID: Code.PROVIDER_ERROR,
    Reason.CALL_NOT_FOUND: Code.NOT_FOUND,
    Reason.ARTIFACT_NOT_FOUND: Code.NOT_FOUND,
    Reason.INTERNAL: Code.INTERNAL_ERROR,
}
"""The one table from reason to code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReason:
    """What a policy's author says about a decision. `code` is theirs; none of it is ours to interpret."""

    code: str
    message: str = ""
    advice: str = ""


class Refusal(Exception):  # noqa: N818 - a refusal is a normal outcome of a call
    """A step stops the call. The message is safe for a model to read and is cut at 512 bytes.

    `fault` says how the part failed, when a part failed; it goes to the audit line and not to the agent.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        issues: tuple[ArgumentIssue, ...] = (),
        policy_reasons: tuple[PolicyReason, ...] = (),
        retry_after_ms: int = 0,
        fault: Fault | None = None,
    ) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.message = cut_message(message)
        self.issues = issues
        self.policy_reasons = policy_reasons
        self.retry_after_ms = retry_after_ms
        self.fault = fault

    @property
    def code(self) -> Code:
        """The class of this refusal."""
        return CODE_OF[self.reason]


def cut_message(message: str) -> str:
    """The message in at most 512 bytes of UTF-8, never ending inside a character."""
    raw = message.encode("utf-8", "replace")
    if len(raw) <= MESSAGE_BYTES:
        return raw.decode()
    return raw[: MESSAGE_BYTES - 3].decode("utf-8", "ignore") + "…"


class Unauthenticated(Exception):  # noqa: N818 - named as gRPC names it
    """Nobody that we know is calling. The text goes to the security log, never to the caller."""


class StartError(Exception):
    """The process cannot start, or a command cannot go on. One sentence that says what to do, or a
    list of problems that are to be shown together.
    """

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.problems = problems


class RefusedKind(StrEnum):
    """Why a request of an operator, an approver or a trusted runtime is not carried out."""

    INVALID = "invalid"
    NOT_FOUND = "not_found"
    FORBIDDEN = "forbidden"
    CONFLICT = "conflict"
    """Something changed meanwhile: look again, and ask again."""
    PRECONDITION = "precondition"
    UNAVAILABLE = "unavailable"


class Refused(Exception):  # noqa: N818 - a normal outcome
    """A control service does not do this. One sentence that says why and what to do, without secrets."""

    def __init__(self, kind: RefusedKind, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = cut_message(message)
