"""Idempotency keys in memory."""

from dataclasses import dataclass, field, replace

from adapters.base import Fault
from gateway.call import Known, Result, Standing
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim


@dataclass
class DictKeys:
    """`Keys`: a dictionary that never forgets. While `is_down` nothing can be claimed."""

    known: dict[str, Known] = field(default_factory=dict)
    intents: list[bytes] = field(default_factory=list)
    is_down: bool = False

    async def look(self, key: str) -> Known | None:
        """What is known of the key."""
        return self.known.get(key)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key."""
        if claim.key in self.known:
            return self.known[claim.key]
        if self.is_down:
            raise Refusal(Reason.JOURNAL_UNAVAILABLE, "The journal cannot be written.", fault=Fault.ERROR)
        self.intents.append(intent)
        self.known[claim.key] = Known(
            standing=Standing.IN_PROGRESS,
            call_id=claim.call_id,
            effect_id=claim.effect_id,
            arguments_digest=claim.arguments_digest,
        )
        return None

    async def settle(self, claim: Claim, result: Result | None) -> None:
        """It happened."""
        if self._is_open(claim):
            self.known[claim.key] = replace(self.known[claim.key], standing=Standing.DONE, result=result)

    async def release(self, claim: Claim) -> None:
        """It did not happen."""
        if self._is_open(claim):
            del self.known[claim.key]

    async def leave_unknown(self, claim: Claim) -> None:
        """Nobody knows."""
        if self._is_open(claim):
            self.known[claim.key] = replace(self.known[claim.key], standing=Standing.UNKNOWN)

    def _is_open(self, claim: Claim) -> bool:
        known = self.known.get(claim.key)
        return known is not None and known.call_id == claim.call_id and known.standing is not Standing.DONE
