"""Calls that wait for a person, in memory."""

from dataclasses import dataclass, field
from typing import Any

from adapters.base import Fault
from fakes.keys import DictKeys, DictTenants
from gateway.approvals.base import Approved, Decided, Parked, Terms
from gateway.call import ApprovalUse, Failure, Known, Pending, Standing
from gateway.errors import Reason, Refusal

ONE_BOSS = Terms(roles=("boss",), count=1, expires_in_seconds=3600)
"""The terms of a decision that names none."""


def boss(name: str = "ann") -> Decided:
    """A boss who approves."""
    return Decided(person=name, roles=("boss",), reason="It is what was asked for.", at=1_767_225_600.0)


@dataclass
class ListApprovals:
    """`Approvals`: keeps what is parked, whose keys it takes. While it `is_down` nothing can be parked or used."""

    keys: DictTenants
    parked: list[Parked] = field(default_factory=list)
    """The first is `apr_1`."""
    over: dict[str, Failure] = field(default_factory=dict)
    """Those that are not waiting any more, by their id, and what a repeated key is told."""
    approved: list[Approved] = field(default_factory=list)
    used: list[ApprovalUse] = field(default_factory=list)
    """By reads."""
    most: int = 100
    """How many may wait."""
    is_down: bool = False

    async def park(self, parked: Parked) -> Pending:
        """It waits."""
        self._check()
        keys = self._keys_of(parked)
        if parked.instead_of:
            keys.approvals.pop(parked.instead_of, None)
        elif len(self.parked) >= self.most:
            raise Refusal(Reason.TOO_MANY_APPROVALS, "Too many of your calls wait.", retry_after_ms=60_000)
        elif parked.key in keys.known:
            raise Refusal(Reason.KEY_IN_PROGRESS, "Another call has this key.", retry_after_ms=1000)
        self.parked.append(parked)
        pending = self._pending(f"apr_{len(self.parked)}", parked)
        if parked.key:
            known = Known(
                standing=Standing.PARKED,
                call_id=parked.call_id,
                effect_id=parked.effect_id,
                arguments_digest=parked.arguments.digest,
                approval_id=pending.approval_id,
            )
            keys.park(parked.key, known)
        return pending

    async def state(self, tenant: str, approval_id: str) -> Pending | Failure:
        """As it was ended, or it waits still."""
        self._check()
        parked = self._find(approval_id)
        assert parked.principal.tenant == tenant
        return self.over.get(approval_id) or self._pending(approval_id, parked)

    async def use(self, approved: Approved, use: ApprovalUse, now: float) -> None:
        """It is used."""
        self._check()
        approvals = self.keys.of(approved.principal.tenant).approvals
        if approvals.get(use.approval_id) != use:
            raise Refusal(Reason.APPROVAL_MISMATCH, "The approval is for something else, or was used. Ask again.")
        del approvals[use.approval_id]
        self.used.append(use)

    def approve(self, approval_id: str = "", **changes: Any) -> Approved:
        """People agree; the last one that waits when none is named. What it then runs with, changed as asked."""
        parked = self._find(approval_id or f"apr_{len(self.parked)}")
        bound = {
            "approval_id": f"apr_{self.parked.index(parked) + 1}",
            "arguments_digest": parked.arguments.digest,
            "tool_version": parked.tool.version,
            "connection": parked.connection.name,
        }
        usual: dict[str, Any] = {
            "call_id": parked.call_id,
            "effect_id": parked.effect_id,
            "key": parked.key,
            "principal": parked.principal,
            "request": parked.request,
            "terms": Terms.of(parked.decision, ONE_BOSS),
            "otherwise": ONE_BOSS,
            "revision": parked.decision.revision,
            "decisions": (boss(),),
            "expires_at": parked.now + 3600,
            "age_seconds": 60.0,
        }
        self._keys_of(parked).approvals[bound["approval_id"]] = ApprovalUse(**bound)
        self.approved.append(Approved(**{**bound, **usual, **changes}))
        return self.approved[-1]

    def end(self, reason: Reason) -> None:
        """The last one that waits does so no more."""
        self.over[f"apr_{len(self.parked)}"] = Failure(reason=reason, message="It is not to run.")

    def _keys_of(self, parked: Parked) -> DictKeys:
        return self.keys.of(parked.principal.tenant)

    def _find(self, approval_id: str) -> Parked:
        return self.parked[int(approval_id.removeprefix("apr_")) - 1]

    @staticmethod
    def _pending(approval_id: str, parked: Parked) -> Pending:
        return Pending(
            approval_id=approval_id,
            message=f"A person has to approve this call of {parked.tool.name}. Nothing was done.",
            policy_reasons=parked.decision.reasons,
        )

    def _check(self) -> None:
        if self.is_down:
            raise Refusal(Reason.APPROVALS_UNAVAILABLE, "Approvals cannot be kept now.", fault=Fault.REFUSED)
