"""A call on its way: what it carries from step to step, and what it claims before it is carried out."""

from gateway.approvals.base import Approved
from gateway.audit.base import LineKind
from gateway.audit.trail import Trail
from gateway.call import Arguments, Charge, Decision, DecisionEffect, Principal, Request
from gateway.idempotency.base import Claim
from gateway.registry.catalogue import Entry


class Passage(Trail):
    """One call on the path: its trail, and what later steps need of earlier ones that no line tells."""

    __slots__ = ("approved", "claim")

    def __init__(
        self,
        *,
        kind: LineKind,
        call_id: str,
        principal: Principal,
        request: Request,
        now: float,
        approved: Approved | None = None,
    ) -> None:
        super().__init__(kind=kind, call_id=call_id, principal=principal, request=request, now=now)
        self.claim: Claim | None = None
        self.approved = approved
        if approved is not None:
            self.approve(approved.approval_id, approved.effect_id, approved.key)


def must_wait(decision: Decision, approved: Approved | None) -> bool:
    """Whether a person has to approve first.

    1. Nobody was asked yet: when policy asks for an approval.
    2. It was approved: unless that meets the terms that hold now. One that was edited is put before people again.
    """
    if approved is None:
        return decision.effect is DecisionEffect.REQUIRE_APPROVAL
    return not approved.meets(decision)


def claim_of(trail: Passage, entry: Entry, arguments: Arguments, charges: tuple[Charge, ...]) -> Claim:
    """The claim of a call; of a read it has no key. Arguments are kept where the vendor can be asked later."""
    can_ask = entry.tool.has_effect and entry.operation.reconcile is not None
    return Claim(
        key=trail.key,
        call_id=trail.call_id,
        effect_id=trail.effect_id,
        arguments_digest=arguments.digest,
        charges=charges,
        approval=trail.approved.binding(arguments, entry.tool, entry.connection) if trail.approved else None,
        kind=trail.kind.value,
        arguments=arguments.canonical if can_ask else b"",
    )
