"""Step 1: who calls. The listener and its proof say so, never the request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.call import Principal

Metadata = Sequence[tuple[str, str | bytes]]


class Proof(Protocol):
    """What came with a request that can prove who sent it."""

    @property
    def metadata(self) -> Metadata:
        """The request's metadata, names in lower case."""
        ...

    @property
    def certificate(self) -> bytes:
        """The client certificate that TLS has verified, PEM; empty when there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthStatus:
    """How an authenticator stands, for health, metrics and the screen."""

    is_ready: bool
    """Whether a caller with a good proof would be let in now."""
    age_seconds: float = 0.0
    """Since the keys were last known to be the newest; 0 when there is nothing that can age."""
    problem: str = ""
    """Why it is not ready, or why newer keys were refused: one sentence that holds nothing of any proof."""


class Authenticator(Protocol):
    """Turns the proof that came with a request into a principal."""

    async def start(self) -> None:
        """Get what is needed to tell who calls, and keep it fresh from now on.

        Raises `StartError` when that can never work. A source that does not answer yet is no such case: nobody
        is let in until it does.
        """
        ...

    async def stop(self) -> None:
        """Let go of everything. Harmless when it was not started."""
        ...

    def status(self) -> AuthStatus:
        """How it stands now. Asks nobody."""
        ...

    async def authenticate(self, proof: Proof) -> Principal:
        """The caller. Raises `Unauthenticated`, whose text is for the security log only."""
        ...
