"""Step 9: what a call takes of budgets and caps is reserved before it runs and spent once it ran."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.call import Charge


class Budget(Protocol):
    """The counters, for reads that cost something: what a write costs is reserved with the claim of its key.

    They are the same for every replica. A replay costs nothing, since it never comes here.
    """

    async def reserve(self, tenant: str, effect_id: str, charges: Sequence[Charge]) -> None:
        """Every charge is held for the effect, or none is. No two charges may be of one counter.

        Raises `Refusal`, and then the call may not go on: `budget_spent` or `cap_reached` with what the charge says
        is told, and when to come back; `store_unavailable` when nobody can count.
        """
        ...

    async def settle(self, tenant: str, effect_id: str) -> None:
        """What the effect holds is spent. Harmless when it holds nothing. Never raises."""
        ...

    async def release(self, tenant: str, effect_id: str) -> None:
        """It is certain that nothing was used: what the effect holds is free again. Never raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that a trusted runtime opened, and that is not over."""

    run_id: str
    opened_at: float
    """Seconds since the epoch."""
    expires_at: float


class FindRun(Protocol):
    """Which runs are open."""

    async def find(self, tenant: str, agent: str, run_id: str) -> OpenRun | None:
        """The run, while it is open. Raises `Refusal(store_unavailable)` when nobody knows."""
        ...
