"""Who signs checkpoints: a key in a file, or one that a Vault holds and does not give away."""

import base64
import binascii
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gateway.audit.notes import ED25519, BadNote, Note, VerificationKey, is_key_name, signed
from gateway.clients.vault_answers import VaultFailed
from gateway.clients.vault_signatures import SigningKey
from gateway.errors import StartError

PREFIX = "PRIVATE+KEY+"
"""What a file with a private key begins with, as in the tools that C2SP notes come from."""
BATCH = 100
"""Messages that a Vault is asked to sign at once."""

T = TypeVar("T")


class NotSigned(Exception):  # noqa: N818 - named for what it is
    """Nobody could sign now. The text is one sentence for operators."""


class Signer(Protocol):
    """Signs under one key for as long as the process lives."""

    @property
    def key(self) -> VerificationKey:
        """What verifies it; there once `start` has returned."""
        ...

    async def start(self) -> None:
        """It can sign. Raises `StartError`."""
        ...

    async def sign(self, texts: Sequence[str]) -> list[Note]:
        """The texts as notes. Raises `NotSigned`."""
        ...


class FileSigner:
    """`Signer` with a key of its own file, which nobody but its owner may touch."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._private: Ed25519PrivateKey | None = None
        self._key: VerificationKey | None = None

    @property
    def key(self) -> VerificationKey:
        """What verifies it."""
        assert self._key is not None
        return self._key

    async def start(self) -> None:
        """Read the file. Raises `StartError`."""
        self._key, self._private = read_key(self._path)

    async def sign(self, texts: Sequence[str]) -> list[Note]:
        """The texts as notes."""
        assert self._private is not None
        return [signed(text, self.key, self._private.sign(text.encode())) for text in texts]


class Vault(Protocol):
    """Asks with the gateway's own token (`credentials.vault_session.VaultSession`)."""

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """What the question, given a token, comes to. Raises `VaultFailed`."""
        ...


class Transit(Protocol):
    """What a transit engine is asked (`clients.vault.VaultClient`). Both raise `VaultFailed`."""

    async def transit_signing_key(self, token: str, mount: str, key: str) -> SigningKey:
        """The newest version of an Ed25519 key."""
        ...

    async def transit_sign(
        self, token: str, mount: str, key: str, version: int, messages: Sequence[bytes]
    ) -> list[bytes]:
        """A signature of each message by this version."""
        ...


class TransitSigner:
    """`Signer` with an Ed25519 key of a transit engine. It keeps to the version that was newest at the start: when
    the key is rotated, the next start signs under another verification key.
    """

    def __init__(self, vault: Vault, client: Transit, *, mount: str, key: str, name: str) -> None:
        """`name` is what the verification key is called."""
        self._vault = vault
        self._client = client
        self._mount = mount
        self._key_in_vault = key
        self._name = name
        self._found: SigningKey | None = None

    @property
    def key(self) -> VerificationKey:
        """What verifies it."""
        assert self._found is not None
        return VerificationKey(self._name, self._found.public)

    async def start(self) -> None:
        """Ask for the public key. Raises `StartError`."""
        client, mount, key = self._client, self._mount, self._key_in_vault
        try:
            self._found = await self._vault.ask(lambda token: client.transit_signing_key(token, mount, key))
        except VaultFailed as failed:
            raise StartError(
                f"checkpoints cannot be signed by {mount}/{key}: {failed}; it has to be an ed25519 key, "
                f"and the gateway's policy needs read on {mount}/keys/{key} and update on {mount}/sign/{key}"
            ) from failed

    async def sign(self, texts: Sequence[str]) -> list[Note]:
        """The texts as notes. Raises `NotSigned`."""
        notes: list[Note] = []
        for start in range(0, len(texts), BATCH):
            notes += await self._sign(texts[start : start + BATCH])
        return notes

    async def _sign(self, texts: Sequence[str]) -> list[Note]:
        assert self._found is not None
        version, messages = self._found.version, [text.encode() for text in texts]
        client, mount, name = self._client, self._mount, self._key_in_vault
        try:
            signatures = await self._vault.ask(lambda token: client.transit_sign(token, mount, name, version, messages))
        except VaultFailed as failed:
            raise NotSigned(f"Vault does not sign: {failed}") from failed
        return [signed(text, self.key, one) for text, one in zip(texts, signatures, strict=True)]


def parsed_keys(vkeys: Iterable[str]) -> tuple[VerificationKey, ...]:
    """The verification keys of settings or of a command. Raises `StartError`."""
    try:
        return tuple(VerificationKey.parsed(vkey) for vkey in vkeys)
    except BadNote as error:
        raise StartError(str(error)) from error


def make_key(path: Path, name: str, seed: bytes) -> VerificationKey:
    """A new key in a new file of mode 0600. `seed` is 32 bytes of chance. Raises `StartError`."""
    if not is_key_name(name):
        raise StartError("a key's name is one word without +; use the name of your host and the gateway, for example")
    private = Ed25519PrivateKey.from_private_bytes(seed)
    key = VerificationKey(name, private.public_key().public_bytes_raw())
    text = f"{PREFIX}{name}+{key.id.hex()}+{base64.b64encode(ED25519 + seed).decode()}\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - it is open already
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StartError(f"the key cannot be written to {path}: {error.strerror}; name a file that is new") from error
    return key


def read_key(path: Path) -> tuple[VerificationKey, Ed25519PrivateKey]:
    """The key in a file. Raises `StartError`, with nothing of the file in it."""
    try:
        with path.open("rb") as file:
            is_open = os.fstat(file.fileno()).st_mode & 0o077
            content = file.read(4096)
    except OSError as error:
        raise StartError(
            f"the key of the checkpoints cannot be read from {path}: {error.strerror}; make one with "
            "`tollhouse audit key`"
        ) from error
    if is_open:
        raise StartError(f"others than its owner may touch the key in {path}; run: chmod 600 {path}")
    found = _parsed(content.decode("utf-8", "replace").strip())
    if found is None:
        raise StartError(f"there is no key in {path}; make one with `tollhouse audit key`")
    return found


def _parsed(text: str) -> tuple[VerificationKey, Ed25519PrivateKey] | None:
    name, _, rest = text.removeprefix(PREFIX).partition("+")
    written_id, _, encoded = rest.partition("+")
    try:
        raw = base64.b64decode(encoded.encode(), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not text.startswith(PREFIX) or len(raw) != 33 or raw[:1] != ED25519:
        return None
    private = Ed25519PrivateKey.from_private_bytes(raw[1:])
    key = VerificationKey(name, private.public_key().public_bytes_raw())
    return (key, private) if key.id.hex() == written_id and is_key_name(name) else None
