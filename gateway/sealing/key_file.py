"""Seals with keys of the gateway's own, from a file. Each tenant's key is derived from them."""

import secrets
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gateway.errors import StartError
from gateway.sealing.envelope import KEY_BYTES, Chance, place_data, seal, unseal
from gateway.sealing.key_lines import keys_in
from gateway.sealing.recent import Recent
from gateway.store.sealing import SealBroken, SealDown
from gateway.watched import FileUnusable, Trouble, WatchedFile

FORMAT = b"\x01"
ID_BYTES = 8
MAX_BYTES = 64 * 1024
MAX_TENANTS = 4096
"""How many tenants' keys are kept in memory; deriving one takes some microseconds."""
_HEADER = len(FORMAT) + ID_BYTES


class KeyFileSeal:
    """`Seal`, by a file that is read again when it changes. The first key seals, and every key opens."""

    def __init__(self, path: Path, monotonic: Callable[[], float], chance: Chance = secrets.token_bytes) -> None:
        self._path = path
        self._chance = chance
        self._file = WatchedFile(path, monotonic, max_bytes=MAX_BYTES, is_private=True)
        self._content: bytes | None = None
        self._keys: dict[bytes, bytes] = {}
        self._first = b""
        self._ciphers: Recent[tuple[bytes, str], AESGCM] = Recent(MAX_TENANTS)

    async def start(self) -> None:
        """Raises `StartError` when there is no key, in a sentence that says what to do."""
        try:
            self._read()
        except FileUnusable as unusable:
            raise StartError(f"what is kept cannot be sealed: {unusable}; {_remedy(unusable, self._path)}") from None

    async def stop(self) -> None:
        """Forget every key."""
        self._forget()

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """Under the first key of the file."""
        self._keys_now()
        cipher = self._cipher(self._first, tenant)
        return seal(cipher, FORMAT + self._first, place_data(tenant, place), plain, self._chance)

    async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
        """Under the key that sealed it, if the file still has it."""
        self._keys_now()
        header = sealed[:_HEADER]
        key_id = header.removeprefix(FORMAT)
        if len(header) < _HEADER or not header.startswith(FORMAT):
            raise SealBroken("it is no text that was sealed with a key file")
        if key_id not in self._keys:
            raise SealBroken("the key file does not hold the key that sealed it")
        return unseal(self._cipher(key_id, tenant), header, place_data(tenant, place), sealed)

    def _keys_now(self) -> None:
        try:
            self._read()
        except FileUnusable:
            self._forget()
            raise SealDown("the key file cannot be used now") from None

    def _read(self) -> None:
        content = self._file.read()
        if content is not self._content:
            self._forget()
            keys = keys_in(content)
            if not keys:
                raise FileUnusable(f"{self._path} holds something else than keys of 32 bytes in base64 or hex")
            self._keys = {_key_id(key): key for key in keys}
            self._first, self._content = next(iter(self._keys)), content

    def _forget(self) -> None:
        self._keys, self._first, self._content = {}, b"", None
        self._ciphers.clear()

    def _cipher(self, key_id: bytes, tenant: str) -> AESGCM:
        cipher = self._ciphers.get((key_id, tenant))
        if cipher is None:
            cipher = AESGCM(_derived(self._keys[key_id], b"tollhouse seal 1 tenant " + tenant.encode(), KEY_BYTES))
            self._ciphers.put((key_id, tenant), cipher)
        return cipher


def _key_id(key: bytes) -> bytes:
    """Names a key and tells nothing of it."""
    return _derived(key, b"tollhouse seal 1 id", ID_BYTES)


def _derived(key: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=info).derive(key)


def _remedy(unusable: FileUnusable, path: Path) -> str:
    if unusable.trouble is Trouble.OPEN_TO_ALL:
        return f"take that right away: chmod 0600 {path}"
    return f"make one with: tollhouse seal new-key {path}"
