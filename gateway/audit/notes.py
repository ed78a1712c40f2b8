"""Signed notes as C2SP describes them (c2sp.org/signed-note): text, and who vouches for it by Ed25519.

A key is known by a name and four bytes of a hash over name and public key; `vkey` is how it is handed to whoever
verifies. In a file, notes follow one another with an empty line between them.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ED25519 = b"\x01"
DASH = "— "
_SIGNATURE_BYTES = 4 + 64


class BadNote(Exception):  # noqa: N818 - a finding, not an error of ours
    """Why a note, or a key, is none. One sentence."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """Who may have signed."""

    name: str
    public: bytes
    """32 bytes."""

    @property
    def id(self) -> bytes:
        """Four bytes that tell keys of one name apart."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.public).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.id.hex()}+{base64.b64encode(ED25519 + self.public).decode()}"

    @classmethod
    def parsed(cls, vkey: str) -> "VerificationKey":
        """The key of `NAME+ID+KEY`. Raises `BadNote`."""
        name, _, rest = vkey.strip().partition("+")
        written_id, _, encoded = rest.partition("+")
        raw = _decoded(encoded)
        if raw is None or len(raw) != 33 or raw[:1] != ED25519 or not is_key_name(name):
            raise BadNote("this is no verification key of Ed25519: it has the form NAME+ID+KEY")
        key = cls(name, raw[1:])
        if key.id.hex() != written_id:
            raise BadNote("the verification key contradicts itself: copy it again as a whole")
        return key

    def has_signed(self, text: str, signature: bytes) -> bool:
        """Whether this signature is this key's, over this text."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Note:
    """A text that ends with a line end, and its signature lines."""

    text: str
    signatures: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.text}\n" + "".join(f"{line}\n" for line in self.signatures)


def is_key_name(name: str) -> bool:
    """Whether a key may be called so."""
    return bool(name) and name.isprintable() and not any(c.isspace() or c == "+" for c in name)


def signed(text: str, key: VerificationKey, signature: bytes) -> Note:
    """The note with one signature."""
    return Note(text, (f"{DASH}{key.name} {base64.b64encode(key.id + signature).decode()}",))


def signer_of(note: Note, keys: Iterable[VerificationKey]) -> VerificationKey | None:
    """Which of these keys signed the note; None when it names none of them.

    Raises `BadNote` when it names one that did not.
    """
    found = None
    for key in keys:
        for line in note.signatures:
            name, _, encoded = line.removeprefix(DASH).partition(" ")
            raw = _decoded(encoded)
            if raw is None or name != key.name or raw[:4] != key.id:
                continue
            if not key.has_signed(note.text, raw[4:]):
                raise BadNote("its signature does not match: it was changed")
            found = key
    return found


def notes_in(content: str) -> Iterator[Note]:
    """The whole notes of a file, in order. What a crash cut off is passed over."""
    text = ""
    for part in content.replace("\r", "").split("\n\n"):
        part = part.strip("\n")  # noqa: PLW2901 - nothing else of it is meant
        lines = tuple(part.split("\n"))
        if not part.startswith(DASH):
            text = f"{part}\n"
        elif text and all(map(_is_signature, lines)):
            yield Note(text, lines)
            text = ""


def _is_signature(line: str) -> bool:
    name, _, encoded = line.removeprefix(DASH).partition(" ")
    raw = _decoded(encoded)
    return line.startswith(DASH) and bool(name) and raw is not None and len(raw) >= _SIGNATURE_BYTES


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.encode(), validate=True)
    except (binascii.Error, ValueError):
        return None
