"""A desk in memory, and approvals to lay on it."""

from dataclasses import replace
from typing import Any

from fakes.approvals import arguments
from fakes.clock import START
from fakes.executions import TERMS, approved
from gateway.approvals.base import Approval, ApprovalState, Approved, Decided, Verdict
from gateway.approvals.bell import Bell
from gateway.call import Answer, Outcome, Pending, Principal
from gateway.errors import PolicyReason, Refusal, Refused, RefusedKind

POLL_SECONDS = 0.02


def approval(approval_id: str = "a1", **changes: Any) -> Approval:
    """One that is open, changed as asked."""
    usual: dict[str, Any] = {
        "approval_id": approval_id,
        "call_id": f"call of {approval_id}",
        "agent": "helper",
        "requester": "helper-1",
        "tool": "send",
        "tool_version": "1",
        "connection": "fake",
        "arguments_digest": arguments().digest,
        "policy_revision": "r1",
        "state": ApprovalState.OPEN,
        "terms": TERMS,
        "decisions": (),
        "created_at": START,
        "expires_at": START + 3600,
        "risk": "high",
        "reasons": (PolicyReason(code="high_risk", message="High risk."),),
        "arguments_json": arguments().canonical,
        "preview_json": b'{"was":1,"will_be":2}',
    }
    return Approval(**{**usual, **changes})


class FakeDesk:
    """`Desk`: whoever asks sees everything. `refusal` is what every decision gets when there is one."""

    def __init__(self, *laid: Approval) -> None:
        self.laid = {each.approval_id: each for each in laid}
        self.refusal: Refused | None = None
        self.verdicts: list[Verdict] = []
        self.pages: list[tuple[tuple[ApprovalState, ...], int, str]] = []
        self._bell = Bell()

    def lay(self, *laid: Approval) -> None:
        """These are as they are given now."""
        self.laid |= {each.approval_id: each for each in laid}
        self._bell.ring()

    async def page(
        self, person: Principal, states: tuple[ApprovalState, ...], *, size: int, after: str
    ) -> tuple[list[Approval], str]:
        """By their ids, without what is private."""
        assert person.tenant == "acme"
        self.pages.append((states, size, after))
        found = [each for name, each in sorted(self.laid.items()) if name > after and each.state in states]
        shown = [replace(each, arguments_json=b"", preview_json=b"") for each in found[:size]]
        return shown, found[size - 1].approval_id if len(found) > size else ""

    async def get(self, person: Principal, approval_id: str) -> Approval:
        """One whole."""
        assert person.tenant == "acme"
        if approval_id not in self.laid:
            raise Refused(RefusedKind.NOT_FOUND, "There is no such approval.")
        return self.laid[approval_id]

    async def decide(self, person: Principal, verdict: Verdict) -> Approval:
        """One approval is enough."""
        self._say(verdict)
        state = ApprovalState.APPROVED if verdict.approve else ApprovalState.DENIED
        one = Decided(person=person.id, roles=("approver",), reason=verdict.reason, at=START, approves=verdict.approve)
        self.lay(replace(self.laid[verdict.approval_id], state=state, decisions=(one,)))
        return self.laid[verdict.approval_id]

    async def edited(self, person: Principal, verdict: Verdict, arguments_json: bytes) -> Approved:
        """The same call with other arguments."""
        self._say(verdict)
        before = approved(verdict.approval_id, edited=True)
        return replace(before, request=replace(before.request, arguments_json=arguments_json))

    async def changed(self) -> None:
        """When something was laid on it, and soon in any case: it may have been while nobody waited."""
        await self._bell.wait(POLL_SECONDS)

    def _say(self, verdict: Verdict) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.verdicts.append(verdict)


class FakeRuns:
    """`Runs`: what was to run, and what policy makes of an edit."""

    def __init__(self, outcome: Outcome | Refusal | None = None) -> None:
        self.soon_asked: list[tuple[str, str]] = []
        self.judged: list[Approved] = []
        self.outcome = outcome or Pending(approval_id="a2", message="Wait.")

    def soon(self, tenant: str, approval_id: str) -> None:
        """Keep it."""
        self.soon_asked.append((tenant, approval_id))

    async def judge(self, edited: Approved) -> Answer:
        """As told."""
        self.judged.append(edited)
        if isinstance(self.outcome, Refusal):
            raise self.outcome
        return Answer(call_id=edited.call_id, effect_id=edited.effect_id, outcome=self.outcome)
