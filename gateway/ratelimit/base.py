"""Step 9: how often. GCRA, the same sum in every implementation."""

from typing import Protocol

from gateway.rows import Rate

Key = tuple[str, ...]
"""A limit's name and what it is counted by, e.g. `("tool", tenant, agent, tool)`. A tuple, so that no
choice of names can make two keys equal."""


class Limiter(Protocol):
    """Counts calls against rates."""

    async def take(self, checks: tuple[tuple[Key, Rate], ...]) -> tuple[int, float]:
        """Take one from every key, or from none.

        Returns `(-1, 0.0)` when all had one left, otherwise the index of the first that had none and the
        seconds until it has. Raises `LimiterDown` when it cannot tell.
        """
        ...


class LimiterDown(Exception):  # noqa: N818 - it is a state, and the pipeline decides what it means
    """The limiter cannot tell whether a call is within its rate."""
