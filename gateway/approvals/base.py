"""Step 8: a call that needs a person waits for one, and runs once that person, or all of them, agreed.

An approval covers the prepared arguments by their digest, the version of the tool and the connection. It is used
once, before it is over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import orjson

from gateway.call import (
    ApprovalUse,
    Arguments,
    Decision,
    DecisionEffect,
    Failure,
    Outcome,
    Pending,
    Principal,
    Request,
)
from gateway.clock import rfc3339
from gateway.errors import PolicyReason
from gateway.rows import Connection, Tool
from gateway.store.unknowns import account_of

OBLIGATION = "approval"


class ApprovalState(StrEnum):
    """How an approval stands."""

    OPEN = "open"
    APPROVED = "approved"
    """And about to run."""
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """The call was cancelled, cannot run any more, or is asked for in another form."""
    USED = "used"
    """It ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How many distinct people with one of these roles have to agree, and how soon."""

    roles: tuple[str, ...]
    count: int
    expires_in_seconds: int

    @classmethod
    def of(cls, decision: Decision, otherwise: "Terms") -> "Terms":
        """What the decision demands. Of several demands all hold: one that one person's role can meet in all of
        them. A decision that demands nothing gets the other terms.
        """
        demanded = [cls._of(each.value) for each in decision.obligations if each.type == OBLIGATION]
        terms = demanded[0] if demanded else otherwise
        for other in demanded[1:]:
            roles = tuple(role for role in terms.roles if role in other.roles)
            seconds = min(terms.expires_in_seconds, other.expires_in_seconds)
            terms = cls(roles=roles, count=max(terms.count, other.count), expires_in_seconds=seconds)
        return terms

    @classmethod
    def _of(cls, value: dict[str, object]) -> "Terms":
        roles, count, seconds = value["roles"], value["count"], value["expires_in_seconds"]
        assert isinstance(roles, list)
        assert isinstance(count, int | float)
        assert isinstance(seconds, int | float)
        return cls(roles=tuple(sorted(set(roles))), count=int(count), expires_in_seconds=int(seconds))

    def role_of(self, roles: Iterable[str]) -> str:
        """The first of these roles that counts; empty when none does."""
        return next((role for role in sorted(roles) if role in self.roles), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What one person decided."""

    person: str
    roles: tuple[str, ...]
    """Those that counted; of a decision that is yet to be counted all that the person holds."""
    reason: str = field(repr=False)
    at: float
    """Seconds since the epoch."""
    approves: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A call that is to wait."""

    call_id: str
    effect_id: str
    key: str = field(repr=False)
    """Scoped; empty for a read."""
    principal: Principal
    request: Request
    tool: Tool
    connection: Connection
    arguments: Arguments
    decision: Decision
    intent: bytes = field(repr=False)
    """The fields of its line, as JSON."""
    now: float
    preview_json: bytes = field(default=b"", repr=False)
    """What is beside what will be; empty when nobody can tell."""
    instead_of: str = ""
    """The approval that it takes the place of: policy asks for more when it was to run, or a person edited it."""
    decided_by: tuple[Decided, ...] = ()
    """Whose approval counts already, as far as they hold the roles that are asked for: of an edited call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """What an approved call runs with."""

    call_id: str
    effect_id: str
    key: str = field(repr=False)
    """Scoped; empty for a read."""
    principal: Principal
    """The caller of then."""
    request: Request
    approval_id: str
    arguments_digest: str
    tool_version: str
    connection: str
    """Its name."""
    terms: Terms
    """Those that it was asked for under."""
    otherwise: Terms
    """The terms of a decision that names none."""
    revision: str
    """Of the policy that asked."""
    decisions: tuple[Decided, ...]
    expires_at: float
    age_seconds: float
    """How long ago it was asked for."""
    account: str = ""
    """Whom the approved call was to be asked of (see `account_of`); empty where that was not kept."""
    edited: bool = False
    """A person wants other arguments: nothing is approved yet, and it is to be parked anew, whatever policy asks."""

    def approval_json(self, revision: str) -> bytes:
        """What policy sees as `input.approval`, when this is the revision of the active policy."""
        if self.edited:
            return b"null"
        return orjson.dumps(
            {
                "id": self.approval_id,
                "approvers": [
                    {"id": one.person, "roles": list(one.roles), "time": rfc3339(one.at)} for one in self.decisions
                ],
                "revision": self.revision,
                "same_revision": revision == self.revision,
                "expires": rfc3339(self.expires_at),
            }
        )

    def meets(self, decision: Decision) -> bool:
        """Whether the call may run on this decision with the approvals that it has; otherwise it is parked anew,
        unless policy denies it.
        """
        if self.edited or decision.effect is DecisionEffect.DENY:
            return False
        if decision.effect is DecisionEffect.ALLOW:
            return True
        terms = Terms.of(decision, self.otherwise)
        people = {one.person for one in self.decisions if one.approves and terms.role_of(one.roles)}
        return len(people) >= terms.count and self.age_seconds < terms.expires_in_seconds

    def binding(self, arguments: Arguments, tool: Tool, connection: Connection) -> ApprovalUse:
        """The approval, and what is about to run: the two have to be one when it is used. Another account, or another
        place, under the connection's name is another connection.
        """
        is_same = self.account in ("", account_of(tool.binding, connection))
        return ApprovalUse(
            approval_id=self.approval_id,
            arguments_digest=arguments.digest,
            tool_version=tool.version,
            connection=connection.name if is_same else "",
        )


class Approvals(Protocol):
    """What the path needs: calls wait, and an approval is used."""

    async def park(self, parked: Parked) -> Pending:
        """The call waits, all of it kept or nothing. Nothing was done.

        Raises `Refusal`: `key_in_progress` when another call has the key, `too_many_approvals`,
        `approval_withdrawn` when what it is to take the place of waits no longer, `approvals_unavailable`.
        """
        ...

    async def state(self, tenant: str, approval_id: str) -> Pending | Failure:
        """How a call stands whose key is parked. Raises `Refusal(approvals_unavailable)`."""
        ...

    async def use(self, approved: Approved, use: ApprovalUse, now: float) -> None:
        """The approval is used by this read, once. A write's is used by its claim.

        Raises `Refusal`, and then nothing may be asked of anybody: one that starts with `approval_`, or
        `approvals_unavailable`.
        """
        ...


class Executions(Protocol):
    """What whoever runs approved calls needs."""

    async def approved(self, tenant: str, approval_id: str) -> Approved | None:
        """What the call runs with; None when it may not run (any more). Raises `Refusal(approvals_unavailable)`."""
        ...

    async def ended(self, approved: Approved, outcome: Outcome) -> bool:
        """The outcome is kept for whoever asks, unless another gateway carried the call out.

        True when nothing was done and it is approved still: what stopped it may be over soon. Raises
        `Refusal(approvals_unavailable)`: tell it again.
        """
        ...

    async def tidy(self, tenant: str) -> tuple[str, ...]:
        """Approvals whose time is over are expired, calls that a gateway was at work on when it ended have an
        outcome, what is old is forgotten. What comes back are approvals that nobody has used for a while.

        Raises `Refusal(approvals_unavailable)`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """An approval as people see it."""

    approval_id: str
    call_id: str
    agent: str
    requester: str
    tool: str
    tool_version: str
    connection: str
    arguments_digest: str
    policy_revision: str
    state: ApprovalState
    terms: Terms
    decisions: tuple[Decided, ...]
    created_at: float
    expires_at: float
    risk: str
    reasons: tuple[PolicyReason, ...]
    """Why policy asks. Messages and advice are there for whoever looks at one whole."""
    arguments_json: bytes = field(default=b"", repr=False)
    """The canonical prepared arguments, for whoever looks at one whole; empty once they are forgotten."""
    preview_json: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a person says."""

    approval_id: str
    approve: bool
    reason: str = field(repr=False)
    arguments_digest: str
    """Of the arguments that the person saw."""


class Desk(Protocol):
    """Where people look and decide. Each method raises `Refused`."""

    async def page(
        self, person: Principal, states: tuple[ApprovalState, ...], *, size: int, after: str
    ) -> tuple[list[Approval], str]:
        """What this person may see, the oldest first, and where the next page begins; empty on the last one."""
        ...

    async def get(self, person: Principal, approval_id: str) -> Approval:
        """One whole. One that this person may not see is not found."""
        ...

    async def decide(self, person: Principal, verdict: Verdict) -> Approval:
        """The approval after this person's decision."""
        ...

    async def edited(self, person: Principal, verdict: Verdict, arguments_json: bytes) -> Approved:
        """The same call with other arguments, for policy to judge. Nothing is changed yet."""
        ...

    async def changed(self) -> None:
        """Returns when something may have changed, and after a second in any case; refuses when the gateway ends."""
        ...
