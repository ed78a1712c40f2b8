"""What comes of a person's decision: it is kept, it has its line, and the call that it completes runs."""

from typing import Protocol

from gateway.approvals.base import Approval, ApprovalState, Approved, Desk, Verdict
from gateway.audit.base import LineKind
from gateway.audit.deeds import Deeds
from gateway.call import Answer, Failure, Pending, Principal
from gateway.errors import Code, Refusal, Refused, RefusedKind


class Runs(Protocol):
    """Who runs what was approved."""

    def soon(self, tenant: str, approval_id: str) -> None:
        """Run this approved call now, in the background."""
        ...

    async def judge(self, edited: Approved) -> Answer:
        """What policy makes of a call that a person has edited. Raises `Refusal` when there was no such call."""
        ...


class Deciding:
    """Carries decisions out."""

    def __init__(self, desk: Desk, deeds: Deeds, runs: Runs) -> None:
        self._desk = desk
        self._deeds = deeds
        self._runs = runs

    async def decide(self, person: Principal, verdict: Verdict, edited_arguments_json: bytes = b"") -> Approval:
        """The approval after this decision; with edited arguments the new one, which this person's approval counts
        for. The decision has its line, also when it is refused. Raises `Refused`.
        """
        seen = await self._desk.get(person, verdict.approval_id)
        async with self._deeds.of(LineKind.DECISION, person, what=seen.tool, note=verdict.reason) as deed:
            deed.tell(
                approval_id=seen.approval_id,
                tool_version=seen.tool_version,
                connection=seen.connection,
                arguments_digest=seen.arguments_digest,
                decision="approve" if verdict.approve else "deny",
                policy_revision=seen.policy_revision,
                roles=tuple(role for role in sorted(person.roles) if role in seen.terms.roles),
            )
            if edited_arguments_json:
                decided = await self._edit(person, verdict, edited_arguments_json)
                deed.tell(approval_id=decided.approval_id, arguments_digest=decided.arguments_digest)
            else:
                decided = await self._desk.decide(person, verdict)
        if decided.state is ApprovalState.APPROVED:
            self._runs.soon(person.tenant, decided.approval_id)
        return decided

    async def _edit(self, person: Principal, verdict: Verdict, arguments_json: bytes) -> Approval:
        edited = await self._desk.edited(person, verdict, arguments_json)
        try:
            outcome = (await self._runs.judge(edited)).outcome
        except Refusal as refusal:
            raise Refused(RefusedKind.UNAVAILABLE, refusal.message) from refusal
        if isinstance(outcome, Pending):
            return await self._desk.get(person, outcome.approval_id)
        if isinstance(outcome, Failure):
            raise Refused(_KIND_OF.get(outcome.code, RefusedKind.PRECONDITION), _told(outcome))
        raise Refused(RefusedKind.PRECONDITION, "Nobody has to approve these arguments any more. Look again.")


_KIND_OF = {
    Code.VALIDATION_FAILED: RefusedKind.INVALID,
    Code.PERMISSION_DENIED: RefusedKind.FORBIDDEN,
    Code.UNAVAILABLE: RefusedKind.UNAVAILABLE,
    Code.CONFLICT: RefusedKind.CONFLICT,
}


def _told(failure: Failure) -> str:
    """Why the edited arguments may not be asked for, all of it in one sentence after the other."""
    issues = "".join(f" {issue.path or '/'}: {issue.message}." for issue in failure.issues)
    return f"The edited arguments were not taken, and nothing was changed. {failure.message}{issues}"
