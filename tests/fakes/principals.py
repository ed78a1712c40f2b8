"""Principals for tests, and who lets them in."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from gateway.call import CallerKind, Principal
from gateway.errors import Unauthenticated
from gateway.identity.base import Authenticator, AuthStatus, Metadata, Proof
from gateway.identity.principal import build_principal


def principal(**changes: Any) -> Principal:
    """An agent of acme with the usual scopes, changed as asked."""
    usual: dict[str, Any] = {
        "tenant": "acme",
        "id": "helper-1",
        "kind": CallerKind.AGENT,
        "agent": "helper",
        "scopes": frozenset({"web:read", "mail:send", "test:read", "test:write"}),
        "roles": frozenset({"assistant"}),
        "claims": {},
        "proof": "socket",
    }
    return build_principal(**{**usual, **changes})


@dataclass(frozen=True, slots=True)
class FakeProof:
    """What came with a request."""

    metadata: Metadata = ()
    certificate: bytes = b""


def bearer(token: str) -> FakeProof:
    """A request with this token."""
    return FakeProof(metadata=(("authorization", f"Bearer {token}"),))


async def is_let_in(authenticator: Authenticator, proof: Proof) -> bool:
    """Whether this proof passes now."""
    try:
        await authenticator.authenticate(proof)
    except Unauthenticated:
        return False
    return True


async def until_let_in(authenticator: Authenticator, proof: Proof, *, let_in: bool, seconds: float) -> None:
    """Return once it passes, or does no longer. Fails when that takes longer."""
    deadline = time.monotonic() + seconds
    while await is_let_in(authenticator, proof) != let_in:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


class FakeAuthenticator:
    """Lets one principal in, by the word `who` in the metadata; nobody while it is not `is_ready`."""

    def __init__(self, who: Principal | None = None) -> None:
        self.principal = who or principal()
        self.is_ready = True
        self.is_running = False

    async def start(self) -> None:
        """Run."""
        self.is_running = True

    async def stop(self) -> None:
        """Run no longer."""
        self.is_running = False

    def status(self) -> AuthStatus:
        """As told."""
        return AuthStatus(is_ready=self.is_ready, problem="" if self.is_ready else "told so")

    async def authenticate(self, proof: Proof) -> Principal:
        """The principal, for exactly one right word."""
        if not self.is_ready or [value for name, value in proof.metadata if name == "who"] != [self.principal.id]:
            raise Unauthenticated("not the one word")
        return self.principal
