"""Step 9: how often. GCRA, the same sum in every implementation."""

from dataclasses import dataclass
from typing import Protocol

from adapters.base import Fault
from gateway.rows import Rate

Key = tuple[str, ...]
"""A limit's name, the tenant, and what else it is counted by, e.g. `("tool", tenant, agent, tool)`. A tuple, so
that no choice of names can make two keys equal."""

Checks = tuple[tuple[Key, Rate], ...]
"""What one call takes from. The keys differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimiterStatus:
    """How a limiter stands, for health, metrics and the screen."""

    is_up: bool
    """Whether the next take would be counted, as far as anybody knows. False while the breaker is open."""
    problem: str = ""
    """Why it is down: one sentence that holds nothing of any call."""


class Limiter(Protocol):
    """Counts calls against rates."""

    async def start(self) -> None:
        """Get ready to count. A server that is away is no error: takes are `LimiterDown` until it is there."""
        ...

    async def stop(self) -> None:
        """Let go of everything. Harmless when it was not started."""
        ...

    def status(self) -> LimiterStatus:
        """How it stands now. Asks nobody."""
        ...

    async def take(self, checks: Checks) -> tuple[int, float]:
        """Take one from every key, or from none.

        Returns `(-1, 0.0)` when all had one left, otherwise the index of the first that had none and the
        seconds until it has. Raises `LimiterDown` when it cannot tell.
        """
        ...


class LimiterDown(Exception):  # noqa: N818 - it is a state, and the pipeline decides what it means
    """The limiter cannot tell whether a call is within its rate. One sentence for operators."""

    def __init__(self, sentence: str, fault: Fault = Fault.REFUSED) -> None:
        super().__init__(sentence)
        self.fault = fault
