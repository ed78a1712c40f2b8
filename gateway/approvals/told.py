"""What agents and people are told of an approval."""

from collections.abc import Sequence

from gateway.approvals.base import Approval, ApprovalState, Decided
from gateway.approvals.kept import read_question
from gateway.call import Failure, Pending, PendingState
from gateway.errors import PolicyReason, Reason, cut_message
from gateway.store.approval_rows import Kept, KeptDecision

TOLD_CHARACTERS = 200


def shown(kept: Kept, decisions: Sequence[KeptDecision]) -> Approval:
    """What can be shown of an approval without opening a seal. Raises `KeptUnreadable`."""
    question = read_question(kept.terms)
    return Approval(
        approval_id=kept.approval_id,
        call_id=kept.call_id,
        agent=kept.agent,
        requester=kept.requester,
        tool=kept.tool,
        tool_version=kept.tool_version,
        connection=kept.connection,
        arguments_digest=kept.arguments_digest,
        policy_revision=kept.policy_revision,
        state=ApprovalState(kept.state),
        terms=question.terms,
        decisions=decided(decisions),
        created_at=kept.created_at.timestamp(),
        expires_at=kept.expires_at.timestamp(),
        risk=question.risk,
        reasons=tuple(PolicyReason(code=code) for code in question.codes),
    )


def decided(decisions: Sequence[KeptDecision]) -> tuple[Decided, ...]:
    """The decisions as they are told."""
    return tuple(
        Decided(
            person=one.person,
            roles=(one.role,),
            reason=one.reason,
            at=one.decided_at.timestamp(),
            approves=one.decision == "approve",
        )
        for one in decisions
    )


def waiting(approval_id: str, tool: str, reasons: tuple[PolicyReason, ...] = ()) -> Pending:
    """What the agent is told while people are asked."""
    message = (
        f"A person has to approve this call of {tool}. Nothing was done. Go on with other work; "
        "ask how it stands by its call id, or call again with the same key."
    )
    return Pending(approval_id=approval_id, message=message, policy_reasons=reasons)


def running(approval_id: str) -> Pending:
    """The same once it was approved."""
    message = "This was approved and is being carried out. Ask again for its result."
    return Pending(approval_id=approval_id, message=message, state=PendingState.RUNNING)


def denial(words: str, *, is_told: bool) -> Failure:
    """What the agent is told of a denial: what was said, and never by whom."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in words).split())[:TOLD_CHARACTERS]
    said = f" They said: {plain}" if is_told and plain else ""
    told = f"A person was asked and did not approve this, so nothing was done. Do not ask for it again.{said}"
    return Failure(reason=Reason.APPROVAL_DENIED, message=cut_message(told))


EXPIRED = Failure(
    reason=Reason.APPROVAL_EXPIRED,
    message="Nobody approved this in time, so nothing was done. Ask again with a new key if it is still needed.",
)
WITHDRAWN = Failure(
    reason=Reason.APPROVAL_WITHDRAWN,
    message="This waits for no approval any more, and nothing was done. Ask again with a new key if it is needed.",
)
CUT_OFF = Failure(
    reason=Reason.CANCELLED,
    message="The gateway stopped while it read this. Nothing was changed; ask again.",
)
NOT_KEPT = Failure(reason=Reason.KEY_DONE, message="This was done; its result is not kept any more.")
UNKNOWN = Failure(
    reason=Reason.OUTCOME_UNKNOWN,
    message="The gateway stopped while it did this, and it is not known whether it happened. Do not repeat it.",
)
