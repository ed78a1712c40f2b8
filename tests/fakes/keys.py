"""Idempotency keys in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from adapters.base import Fault
from fakes.budget import DictBudget
from gateway.call import ApprovalUse, Known, Result, Standing, Whose
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim


@dataclass
class DictKeys:
    """`Keys`: a dictionary that never forgets. While `is_down` nothing can be looked up or claimed, and what is told
    of a claim is told later.
    """

    tenant: str = ""
    budget: DictBudget | None = None
    """Where charges are counted; nowhere without one."""
    approvals: dict[str, ApprovalUse] = field(default_factory=dict)
    """What was approved and not used, by the approval's id."""
    known: dict[str, Known] = field(default_factory=dict)
    intents: list[bytes] = field(default_factory=list)
    is_down: bool = False
    is_held: bool = True
    closed: set[str] = field(default_factory=set)
    """Calls that another gateway closed."""

    def holds(self, claim: Claim) -> bool:
        """Whether the lease is good."""
        return self.is_held

    def is_owed(self, claim: Claim) -> bool:
        """A dictionary hears everything at once."""
        return False

    async def look(self, key: str) -> Known | None:
        """What is known of the key."""
        self._check()
        return self.known.get(key)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key, reserve the charges and use the approval, or do nothing of it."""
        self._check()
        known = self.known.get(claim.key)
        if known is not None and claim.approval is None:
            return known
        self._check_approval(claim, known)
        if self.budget is not None:
            await self.budget.reserve(self.tenant, claim.effect_id, claim.charges)
        if claim.approval is not None:
            del self.approvals[claim.approval.approval_id]
        self.intents.append(intent)
        self.known[claim.key] = Known(
            standing=Standing.IN_PROGRESS,
            call_id=claim.call_id,
            effect_id=claim.effect_id,
            arguments_digest=claim.arguments_digest,
        )
        return None

    def park(self, key: str, known: Known) -> None:
        """The key waits for an approval."""
        self.known[key] = known

    async def settle(self, claim: Claim, result: Result | None) -> Whose:
        """It happened."""
        if self._is_open(claim):
            self.known[claim.key] = replace(self.known[claim.key], standing=Standing.DONE, result=result)
            if self.budget is not None:
                await self.budget.settle(self.tenant, claim.effect_id)
        return await self.whose(claim)

    async def release(self, claim: Claim) -> Whose:
        """It did not happen."""
        if self._is_open(claim):
            del self.known[claim.key]
            if self.budget is not None:
                await self.budget.release(self.tenant, claim.effect_id)
        return await self.whose(claim)

    async def leave_unknown(self, claim: Claim) -> Whose:
        """Nobody knows."""
        if self._is_open(claim):
            self.known[claim.key] = replace(self.known[claim.key], standing=Standing.UNKNOWN)
        return await self.whose(claim)

    async def whose(self, claim: Claim) -> Whose:
        """Another's when it closed the call; nobody can tell while this is down and its lease over."""
        if self.is_held:
            return Whose.OURS
        if self.is_down:
            return Whose.UNTOLD
        return Whose.ANOTHERS if claim.call_id in self.closed else Whose.OURS

    def _check(self) -> None:
        if self.is_down:
            raise Refusal(Reason.STORE_UNAVAILABLE, "The store does not answer.", fault=Fault.ERROR)

    def _check_approval(self, claim: Claim, known: Known | None) -> None:
        """It was approved for exactly this, is not used, and the key waits for it."""
        use = claim.approval
        if use is None:
            return
        is_parked = known is not None and (known.standing, known.call_id) == (Standing.PARKED, claim.call_id)
        if not is_parked or self.approvals.get(use.approval_id) != use:
            raise Refusal(Reason.APPROVAL_MISMATCH, "The approval is for something else, or was used. Ask again.")

    def _is_open(self, claim: Claim) -> bool:
        known = self.known.get(claim.key)
        return known is not None and known.call_id == claim.call_id and known.standing is not Standing.DONE


@dataclass
class DictTenants:
    """`Tenants` of such keys."""

    budget: DictBudget | None = None
    make: Callable[..., DictKeys] = DictKeys
    tenants: dict[str, DictKeys] = field(default_factory=dict)

    def of(self, tenant: str) -> DictKeys:
        """The keys of one."""
        if tenant not in self.tenants:
            self.tenants[tenant] = self.make(tenant=tenant, budget=self.budget)
        return self.tenants[tenant]
