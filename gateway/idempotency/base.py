"""Steps 6 and 10: a key is one effect."""

from dataclasses import dataclass, field
from typing import Protocol

from gateway.call import Known, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key that this call owns from now on. `key` is already scoped by tenant, agent and tool."""

    key: str = field(repr=False)
    call_id: str
    effect_id: str
    arguments_digest: str


class Keys(Protocol):
    """What is remembered of idempotency keys. A key is remembered for at least 24 hours, unless the call made
    it for itself alone; one whose effect is unfinished or unknown is never forgotten.
    """

    async def look(self, key: str) -> Known | None:
        """What is known of the key; None when it is free. Raises `Refusal(journal_unavailable)`."""
        ...

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key and make the intent durable, in one step, before anything is sent.

        Returns None when the key is now ours, or what is known when somebody was faster. Raises
        `Refusal(journal_unavailable)`, and then nothing may be sent.
        """
        ...

    async def settle(self, claim: Claim, result: Result | None) -> None:
        """The effect happened; a repeated key gets this result, if there is one. Never raises."""
        ...

    async def release(self, claim: Claim) -> None:
        """It is certain that nothing happened: the key is free again. Never raises."""
        ...

    async def leave_unknown(self, claim: Claim) -> None:
        """Nobody knows whether it happened: the key stays taken. Never raises."""
        ...
