"""A listener whose every caller is one principal: whoever can open the socket is that principal."""

from gateway.call import Principal
from gateway.identity.base import Metadata


class FixedAuthenticator:
    """Answers with the same principal whatever a request carries."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    def authenticate(self, metadata: Metadata) -> Principal:  # noqa: ARG002 - the listener is the proof
        """The listener's principal. Never raises."""
        return self._principal
