"""Steps 6 and 10: a key is one effect."""

from dataclasses import dataclass, field
from typing import Protocol

from gateway.call import ApprovalUse, Charge, Known, Result, Whose


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key that this call owns from now on. `key` is already scoped by tenant, agent and tool."""

    key: str = field(repr=False)
    call_id: str
    effect_id: str
    arguments_digest: str
    charges: tuple[Charge, ...] = ()
    """What is reserved with it, all or nothing."""
    approval: ApprovalUse | None = None
    """The approval that is used by it, once."""
    kind: str = "call"
    """Of which line the claim is: `call`, or `execution`."""
    arguments: bytes = field(default=b"", repr=False)
    """The canonical arguments, kept sealed for whoever asks the vendor later what became of it; empty: nobody can."""


class Tenants(Protocol):
    """The keys of every tenant."""

    def of(self, tenant: str) -> "Keys":
        """The keys of one: the same object every time."""
        ...


class Keys(Protocol):
    """What is remembered of one tenant's idempotency keys. A key is remembered for at least 24 hours, unless the
    call made it for itself alone; one whose effect is unfinished or unknown is never forgotten.

    What became of a claim is told by one of the last three methods. Each says whose the line is then.
    """

    async def look(self, key: str) -> Known | None:
        """What is known of the key; None when it is free. Raises `Refusal(store_unavailable)`."""
        ...

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key, reserve the charges, use the approval and make the intent durable, all or nothing, before
        anything is sent.

        Returns None when the key is now ours, or what is known when somebody was faster. Raises `Refusal`, and then
        nothing may be sent: `store_unavailable`, `budget_spent`, `cap_reached`, or one that starts with `approval_`.
        """
        ...

    async def whose(self, claim: Claim) -> Whose:
        """Whose the line of a settled claim is, once the store knows what became of it. Never raises."""
        ...

    def holds(self, claim: Claim) -> bool:
        """Whether nobody can have closed the claim. When not, nothing may be sent: others call it unknown."""
        ...

    def is_owed(self, claim: Claim) -> bool:
        """Whether the store has still to hear what became of the claim: until then it may be there, and others may
        close it in the end and write the line of its call.
        """
        ...

    async def settle(self, claim: Claim, result: Result | None) -> Whose:
        """The effect happened and what it reserved is spent; a repeated key gets this result, if there is one.
        Never raises.
        """
        ...

    async def release(self, claim: Claim) -> Whose:
        """It is certain that nothing happened: the key is free again, and what it reserved. Never raises."""
        ...

    async def leave_unknown(self, claim: Claim) -> Whose:
        """Nobody knows whether it happened: the key stays taken, and what it reserved. Never raises."""
        ...
