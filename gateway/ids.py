"""The ids of calls."""

import secrets
from collections.abc import Callable


class CallIds:
    """Ids that sort by time: 48 bits of milliseconds and 80 of chance, in hex (as in RFC 9562, 5.7)."""

    _TAKEN, _STORED = 10, 4096

    def __init__(self, now: Callable[[], float], chance: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._now = now
        self._chance = chance
        self._store = b""
        self._at = 0

    def __call__(self) -> str:
        """A new id. Chance is drawn in bulk: a system call for each would cost more than the rest."""
        if self._at + self._TAKEN > len(self._store):
            self._store, self._at = self._chance(self._STORED), 0
        start, self._at = self._at, self._at + self._TAKEN
        return f"{int(self._now() * 1000):012x}{self._store[start : self._at].hex()}"
