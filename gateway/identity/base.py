"""Step 1: who calls. The listener and its proof say so, never the request."""

from collections.abc import Sequence
from typing import Protocol

from gateway.call import Principal

Metadata = Sequence[tuple[str, str | bytes]]


class Authenticator(Protocol):
    """Turns the proof that came with a request into a principal."""

    def authenticate(self, metadata: Metadata) -> Principal:
        """The caller. Raises `Unauthenticated`, whose text is for the security log only."""
        ...
