"""What an edge is given of an RPC, and who lets its caller in."""

from dataclasses import dataclass
from typing import Any

import grpc

from fakes.principals import principal
from gateway.identity.base import AuthStatus, Proof


class AbortedError(Exception):
    """As grpc's own: abort never returns."""


class FakeContext:
    """What the edge uses of a servicer's context."""

    def __init__(self, metadata: tuple[tuple[str, str], ...] = (), auth: dict[str, list[bytes]] | None = None) -> None:
        self.metadata = metadata
        self.auth = auth or {}
        self.status: grpc.StatusCode | None = None
        self.details = ""
        self.initial: tuple[tuple[str, str], ...] = ()
        self.trailing: tuple[tuple[str, str], ...] = ()

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        """What the caller sent."""
        return self.metadata

    def auth_context(self) -> dict[str, list[bytes]]:
        """What TLS found out."""
        return self.auth

    def peer(self) -> str:
        """Where the caller is."""
        return "unix:"

    def time_remaining(self) -> float | None:
        """The caller set no deadline."""
        return None

    async def send_initial_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
        """Keep it."""
        self.initial = metadata

    def set_trailing_metadata(self, metadata: tuple[tuple[str, str], ...]) -> None:
        """Keep it."""
        self.trailing = metadata

    async def abort(self, status: grpc.StatusCode, details: str, trailing: tuple[tuple[str, str], ...] = ()) -> None:
        """End the RPC."""
        self.status, self.details, self.trailing = status, details, trailing
        raise AbortedError


@dataclass
class FakeDetails:
    """What names a method."""

    method: str
    invocation_metadata: tuple[tuple[str, str], ...] = ()


class FixedCaller:
    """An authenticator that knows everybody, or fails as it is told."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.shown: list[tuple[Any, bytes]] = []

    async def start(self) -> None:
        """Nothing is needed."""

    async def stop(self) -> None:
        """Nothing is held."""

    def status(self) -> AuthStatus:
        """Always ready."""
        return AuthStatus(is_ready=True)

    async def authenticate(self, proof: Proof) -> Any:
        """The usual principal."""
        self.shown.append((proof.metadata, proof.certificate))
        if self.error is not None:
            raise self.error
        return principal()
