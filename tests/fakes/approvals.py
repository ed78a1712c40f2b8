"""Everything that approvals need, over a database; calls to park; people; and a path that carries out what was
approved as the real one does, as far as approvals are concerned.
"""

import hashlib
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.base import SideEffect
from fakes.clock import FakeClock
from fakes.lines import result
from fakes.principals import principal
from fakes.rows import connection, tool
from fakes.seal import FakeSeal
from gateway.approvals.base import Approved, Decided, Parked, Verdict
from gateway.approvals.bell import Bell
from gateway.approvals.desk import StoreDesk
from gateway.approvals.means import Means
from gateway.approvals.store import StoreApprovals
from gateway.call import (
    Answer,
    ApprovalUse,
    Arguments,
    CallerKind,
    Decision,
    DecisionEffect,
    Failure,
    Obligation,
    Pending,
    Principal,
    Request,
    Result,
)
from gateway.errors import PolicyReason, Reason, Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.store import StoreKeys
from gateway.settings.approvals import ApprovalSettings
from gateway.store.database import Database

ids = itertools.count(1)
SEND = tool(name="send", side_effect=SideEffect.SEND)
READ = tool(name="read", side_effect=SideEffect.READ)
ALLOW = Decision(effect=DecisionEffect.ALLOW, reasons=(), obligations=(), revision="r2")


def new_id() -> str:
    """Ids that sort by when they were made."""
    return f"{next(ids):08d}"


def person(name: str = "ann", *roles: str, **changes: Any) -> Principal:
    """A human of acme with these roles, an approver when none is named."""
    usual = {"id": name, "kind": CallerKind.HUMAN, "agent": "", "roles": frozenset(roles or ("approver",))}
    return principal(**{**usual, "proof": "jwt", "scopes": frozenset(), **changes})


def arguments(text: str = "hello") -> Arguments:
    """Prepared arguments."""
    canonical = json.dumps({"text": text}, separators=(",", ":")).encode()
    digest = f"sha256:{hashlib.sha256(canonical).hexdigest()}"
    return Arguments(value={"text": text}, canonical=canonical, digest=digest)


def asking(*, roles: tuple[str, ...] = ("approver",), count: int = 1, seconds: int = 3600) -> Decision:
    """A decision that demands these terms."""
    terms = {"roles": list(roles), "count": count, "expires_in_seconds": seconds}
    reason = PolicyReason(code="high_risk", message="High risk.", advice="Wait.")
    return Decision(
        effect=DecisionEffect.REQUIRE_APPROVAL,
        reasons=(reason,),
        obligations=(Obligation(type="approval", value=terms),),
        revision="r1",
    )


def parked(clock: FakeClock, **changes: Any) -> Parked:
    """A call that is to wait, changed as asked; `key` is made up when none is named."""
    call_id = changes.pop("call_id", f"call-{new_id()}")
    made = changes.pop("arguments", arguments())
    usual: dict[str, Any] = {
        "call_id": call_id,
        "effect_id": call_id,
        "key": f"key-{call_id}",
        "principal": principal(claims={"team": "sales"}),
        "request": Request(tool="send", arguments_json=made.canonical, idempotency_key="k", run_id="run-1"),
        "tool": SEND,
        "connection": connection(),
        "arguments": made,
        "decision": asking(),
        "intent": b"{}",
        "now": clock.now(),
    }
    return Parked(**{**usual, **changes})


def saying(approval_id: str, *, approve: bool = True, reason: str = "It is fine.", text: str = "hello") -> Verdict:
    """A verdict on a call with these arguments."""
    return Verdict(approval_id=approval_id, approve=approve, reason=reason, arguments_digest=arguments(text).digest)


@dataclass
class Office:
    """One gateway's approvals, keys and desk over a database that others may share."""

    database: Database
    clock: FakeClock
    writer: str = "w1"
    settings: ApprovalSettings = field(default_factory=ApprovalSettings)
    seal: FakeSeal = field(default_factory=FakeSeal)
    effects: list[str] = field(default_factory=list)
    """The call of every effect that the path carried out, over all offices that share the list."""
    judged: Callable[[Approved], Decision] = lambda _: ALLOW
    """What policy says when an approved call is to run."""
    fails: list[Failure] = field(default_factory=list)
    """What stops the next executions before they claim anything, in order."""
    after: list[Failure | None] = field(default_factory=list)
    """What comes of the next executions once they have claimed; None is a result."""

    def __post_init__(self) -> None:
        self.bell = Bell()
        means = Means(
            database=self.database,
            seal=self.seal,
            clock=self.clock,
            writer=self.writer,
            settings=self.settings,
            new_id=new_id,
            bell=self.bell,
        )
        self.approvals = StoreApprovals(means)
        self.desk = StoreDesk(means)
        self.keys = StoreKeys(self.database, writer=self.writer, clock=self.clock, seal=self.seal)
        self.text = "hello"
        """The argument that every execution prepares; of another than was approved nothing may run."""

    async def park(self, **changes: Any) -> str:
        """The id of an approval that is open."""
        return (await self.approvals.park(parked(self.clock, **changes))).approval_id

    async def approve(self, approval_id: str, *people: str) -> None:
        """These people approve, Ann when none is named."""
        for name in people or ("ann",):
            await self.desk.decide(person(name), saying(approval_id))

    async def given(self, **changes: Any) -> str:
        """The id of an approval that was given."""
        approval_id = await self.park(**changes)
        await self.approve(approval_id)
        return approval_id

    async def approved(self, approval_id: str) -> Approved:
        """What an approved call runs with."""
        found = await self.approvals.approved("acme", approval_id)
        assert found is not None
        return found

    async def execute(self, approved: Approved) -> Answer:
        """`Pipeline.execute`, as far as approvals are concerned."""
        try:
            outcome = await self._outcome(approved)
        except Refusal as refusal:
            outcome = Failure.of(refusal)
        return Answer(call_id=approved.call_id, effect_id=approved.effect_id, outcome=outcome)

    async def _outcome(self, approved: Approved) -> Result | Failure | Pending:
        if self.fails:
            return self.fails.pop(0)
        decision = self.judged(approved)
        if decision.effect is DecisionEffect.DENY:
            return Failure(reason=Reason.POLICY_DENIED, message="No.")
        text = json.loads(approved.request.arguments_json)["text"] if approved.edited else self.text
        made = arguments(text)
        if not approved.meets(decision):
            return await self.approvals.park(again(approved, decision, made, self.clock.now()))
        use = approved.binding(made, SEND, connection())
        if not approved.key:
            await self.approvals.use(approved, use, self.clock.now())
            self.effects.append(approved.call_id)
            return self.after.pop(0) or result() if self.after else result()
        return await self._carry_out(approved, use)

    async def _carry_out(self, approved: Approved, use: ApprovalUse) -> Result | Failure:
        keys = self.keys.of("acme")
        claim = Claim(
            key=approved.key,
            call_id=approved.call_id,
            effect_id=approved.effect_id,
            arguments_digest=use.arguments_digest,
            approval=use,
            kind="execution",
        )
        known = await keys.claim(claim, b"{}")
        if known is not None:
            return Failure(reason=Reason.KEY_IN_PROGRESS, message="Another was faster.")
        failure = self.after.pop(0) if self.after else None
        if failure is not None:
            unknown = failure.reason is Reason.OUTCOME_UNKNOWN
            await (keys.leave_unknown(claim) if unknown else keys.release(claim))
            return failure
        self.effects.append(approved.call_id)
        done = result()
        await keys.settle(claim, done)
        return done


def again(approved: Approved, decision: Decision, made: Arguments, now: float) -> Parked:
    """The call as it is parked anew."""
    return Parked(
        call_id=approved.call_id,
        effect_id=approved.effect_id,
        key=approved.key,
        principal=approved.principal,
        request=replace(approved.request, arguments_json=made.canonical),
        tool=SEND,
        connection=connection(),
        arguments=made,
        decision=decision,
        intent=b"{}",
        now=now,
        instead_of=approved.approval_id,
        decided_by=approved.decisions,
    )


def decided(name: str = "ann", *roles: str, at: float) -> Decided:
    """An approval by this person."""
    return Decided(person=name, roles=roles or ("approver",), reason="Fine.", at=at)
