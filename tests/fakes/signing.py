"""A signer in memory, and audits with checkpoints."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gateway.audit.notes import Note, VerificationKey, signed
from gateway.audit.signing import NotSigned


class FakeSigner:
    """`Signer` with a key made of a number. While `is_down` it signs nothing."""

    def __init__(self, seed: int = 1, name: str = "gw/audit") -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.key = VerificationKey(name, self._private.public_key().public_bytes_raw())
        self.is_down = False

    async def start(self) -> None:
        """It can."""

    async def sign(self, texts: Sequence[str]) -> list[Note]:
        """The texts as notes."""
        if self.is_down:
            raise NotSigned("the signer is down")
        return [self.note(text) for text in texts]

    def note(self, text: str) -> Note:
        """The text as a note."""
        return signed(text, self.key, self._private.sign(text.encode()))
