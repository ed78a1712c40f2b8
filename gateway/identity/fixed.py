"""A listener whose every caller is one principal: whoever can open the socket is that principal."""

from gateway.call import Principal
from gateway.identity.base import AuthStatus, Proof


class FixedAuthenticator:
    """Answers with the same principal whatever a request carries."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    async def start(self) -> None:
        """Nothing is needed."""

    async def stop(self) -> None:
        """Nothing is held."""

    def status(self) -> AuthStatus:
        """Always ready."""
        return AuthStatus(is_ready=True)

    async def authenticate(self, proof: Proof) -> Principal:  # noqa: ARG002 - the listener is the proof
        """The listener's principal. Never raises."""
        return self._principal
