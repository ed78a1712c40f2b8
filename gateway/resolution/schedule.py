"""When to ask again: soon at first, and hourly in the end."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

PAUSES = (5.0, 30.0, 120.0, 600.0, 3600.0)
"""Seconds before the first question, before the second, and so on; the last one stays."""
SPREAD = 0.2
"""By how much a pause is longer or shorter by chance, so that many do not ask at once."""

At = tuple[str, str]
"""Tenant and call id."""


@dataclass(frozen=True, slots=True)
class _Turn:
    asked: int
    due: float


class Schedule:
    """What is to be asked when. `chance` returns numbers from 0 to 1. Time is on a clock that never goes back."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self._turns: dict[At, _Turn] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def are(self, tenant: str, call_ids: Iterable[str], now: float) -> None:
        """These are the tenant's, and no others: new ones get their first turn, the rest are forgotten."""
        there = {(tenant, call_id) for call_id in call_ids}
        for at in [at for at in self._turns if at[0] == tenant and at not in there]:
            del self._turns[at]
        for at in there - self._turns.keys():
            self._turns[at] = self._turn(0, now)

    def due(self, now: float, most: int) -> list[At]:
        """At most so many whose turn it is, the longest due first."""
        found = sorted((turn.due, at) for at, turn in self._turns.items() if turn.due <= now)
        return [at for _, at in found[:most]]

    def asked(self, at: At, now: float) -> None:
        """It was asked and is not known yet."""
        turn = self._turns.get(at)
        self._turns[at] = self._turn(turn.asked + 1 if turn else 1, now)

    def forget(self, at: At) -> None:
        """It is known now."""
        self._turns.pop(at, None)

    def _turn(self, asked: int, now: float) -> _Turn:
        pause = PAUSES[min(asked, len(PAUSES) - 1)]
        return _Turn(asked, now + pause * (1 + SPREAD * (2 * self._chance() - 1)))
