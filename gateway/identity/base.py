"""Step 1: who calls. The listener and its proof say so, never the request."""

from collections.abc import Sequence
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

    async def authenticate(self, proof: Proof) -> Principal:
        """The caller. Raises `Unauthenticated`, whose text is for the security log only."""
        ...
