"""Places that are held for as long as something lasts: so many for each agent, whatever others hold."""

import contextlib
from collections import Counter
from collections.abc import Iterator

Whose = tuple[str, str]
"""A tenant and an agent."""


class Places:
    """Counts them. Use it on one loop."""

    def __init__(self, most: int) -> None:
        """`most` at once for one agent."""
        self._most = most
        self._held: Counter[Whose] = Counter()

    @property
    def held(self) -> int:
        """How many are held by all."""
        return self._held.total()

    def has_room(self, whose: Whose) -> bool:
        """Whether the agent may have one more."""
        return self._held[whose] < self._most

    @contextlib.contextmanager
    def one(self, whose: Whose) -> Iterator[None]:
        """A place of the agent's, until the end of the block."""
        self._held[whose] += 1
        try:
            yield
        finally:
            self._held[whose] -= 1
            if not self._held[whose]:
                del self._held[whose]
