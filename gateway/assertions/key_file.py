"""Signs with a key of the gateway's own, from a file that is read again when it changes."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from adapters.base import Fault
from gateway.assertions.base import NotSigned, compact, signing_input
from gateway.assertions.keys import PublicKey
from gateway.errors import StartError
from gateway.watched import FileUnusable, Trouble, WatchedFile

MAX_BYTES = 16 * 1024


class FileSigner:
    """`Signer`, by a key file. When the file's key is replaced the former one stays published for a while."""

    def __init__(self, path: Path, monotonic: Callable[[], float], *, keep_seconds: float) -> None:
        """`keep_seconds` is how long a former key is published: longer than what it signed holds."""
        self._path = path
        self._monotonic = monotonic
        self._keep_seconds = keep_seconds
        self._file = WatchedFile(path, monotonic, max_bytes=MAX_BYTES, is_private=True)
        self._content: bytes | None = None
        self._pair: tuple[Ed25519PrivateKey, PublicKey] | None = None
        self._former: dict[PublicKey, float] = {}
        """Until when each is published."""

    async def start(self) -> None:
        """Read the file. Raises `StartError`, in a sentence that says what to do."""
        try:
            self._read()
        except FileUnusable as unusable:
            remedy = _remedy(unusable, self._path)
            raise StartError(f"assertions cannot be signed: {unusable}; {remedy}") from None

    async def stop(self) -> None:
        """Forget the key."""
        self._content, self._pair = None, None

    def keys(self) -> tuple[PublicKey, ...]:
        """The one that signs, if there is one now, and those that did so a while ago."""
        current: tuple[PublicKey, ...] = ()
        with suppress(FileUnusable):
            current = (self._read()[1],)
        now = self._monotonic()
        self._former = {key: until for key, until in self._former.items() if now < until}
        return (*current, *self._former)

    async def sign(self, claims: bytes) -> str:
        """By the key that is in the file now. Raises `NotSigned`."""
        try:
            private, key = self._read()
        except FileUnusable as unusable:
            failure = NotSigned(f"{unusable}", fault=Fault.NOT_LOADED)
        else:
            signed = signing_input(key, claims)
            return compact(signed, private.sign(signed))
        raise failure

    def _read(self) -> tuple[Ed25519PrivateKey, PublicKey]:
        try:
            content = self._file.read()
            if self._pair is not None and content is self._content:
                return self._pair
            private = private_key_in(content, self._path)
        except FileUnusable:
            self._retire()
            raise
        self._retire()
        self._content, self._pair = content, (private, PublicKey(private.public_key().public_bytes_raw()))
        self._former.pop(self._pair[1], None)
        return self._pair

    def _retire(self) -> None:
        """What the key signed just now still holds."""
        if self._pair is not None:
            self._former[self._pair[1]] = self._monotonic() + self._keep_seconds
        self._content, self._pair = None, None


def private_key_in(content: bytes, path: Path) -> Ed25519PrivateKey:
    """The key in a file. Raises `FileUnusable`, with nothing of the content in it."""
    try:
        private = load_pem_private_key(content, password=None)
    except TypeError:
        problem = f"the key in {path} is encrypted, and nobody could type its password"
    except (ValueError, UnsupportedAlgorithm):
        problem = f"{path} holds no private key in PEM"
    else:
        if isinstance(private, Ed25519PrivateKey):
            return private
        problem = f"the key in {path} is not an Ed25519 key"
    raise FileUnusable(problem)  # not chained: the words of the library may hold parts of the content


def make_key(path: Path, seed: bytes) -> PublicKey:
    """A new key in a new file of mode 0600. `seed` is 32 bytes of chance. Raises `StartError`."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - it is open already
            file.write(pem)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise StartError(f"the key cannot be written to {path}: {error.strerror}; name a file that is new") from error
    return PublicKey(private.public_key().public_bytes_raw())


def _remedy(unusable: FileUnusable, path: Path) -> str:
    if unusable.trouble is Trouble.OPEN_TO_ALL:
        return f"take that right away: chmod 0600 {path}"
    return f"make one with: tollhouse assertions make-key {path}"
