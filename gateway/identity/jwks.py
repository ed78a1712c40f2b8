"""JSON Web Key Sets (RFC 7517): the public keys that an issuer signs tokens with, and where they come from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from gateway.identity.base import AuthStatus

MAX_BYTES = 1024 * 1024
MAX_KEYS = 256
MIN_RSA_BITS = 2048
"""RFC 7518, 3.3."""

_ALGORITHMS = {
    "EC P-256": frozenset({"ES256"}),
    "EC P-384": frozenset({"ES384"}),
    "OKP Ed25519": frozenset({"EdDSA"}),
    "RSA": frozenset({"RS256", "PS256"}),
}
_OTHER_NAMES = {"Ed25519": "EdDSA"}
"""What RFC 9864 calls an algorithm that tokens name otherwise."""


class KeysUnusable(Exception):  # noqa: N818 - named for what it is
    """This is no set of public keys. The text is one sentence that can follow the set's name."""


@dataclass(frozen=True, slots=True)
class Key:
    """A public key and the algorithms that it may be used with, so that none is ever used for another."""

    public: Any = field(repr=False)
    algorithms: frozenset[str]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Public keys by key id; the id of a key without one is empty. Equal when they were published as the same."""

    keys: Mapping[str, Key] = field(repr=False, compare=False)
    published: Mapping[str, Mapping[str, Any]] = field(repr=False)

    def find(self, key_id: object) -> Key | None:
        """The key that a token names, or the only one when it names none."""
        if key_id is None and len(self.keys) == 1:
            return next(iter(self.keys.values()))
        return self.keys.get(key_id) if isinstance(key_id, str) else None


class KeySource(Protocol):
    """Where a key set comes from, and how it is kept fresh."""

    async def start(self) -> None:
        """Get the set and follow its changes. Raises `StartError` when that can never work."""
        ...

    async def stop(self) -> None:
        """Let go of everything. Harmless when it was not started."""
        ...

    def current(self) -> KeySet:
        """The set that holds now: the very same object as long as nothing changed.

        Raises `Unauthenticated` when there is none that can be relied on.
        """
        ...

    async def look_again(self) -> None:
        """Return once `current` is as fresh as can be, for a token that names a key which is not in it.

        May return at once: whoever makes up key ids must not be able to keep the issuer busy.
        """
        ...

    def status(self) -> AuthStatus:
        """How it stands now. Asks nobody."""
        ...


def parse_keys(raw: bytes) -> KeySet:
    """The public keys in a document. Raises `KeysUnusable`.

    Keys of kinds or uses that we do not know are left out (RFC 7517, 5). A broken, symmetric or private key
    spoils the whole set: whoever can read such a key can sign with it.
    """
    if len(raw) > MAX_BYTES:
        raise KeysUnusable(f"is larger than {MAX_BYTES} bytes")
    keys: dict[str, Key] = {}
    published: dict[str, Mapping[str, Any]] = {}
    for entry in _entries(raw):
        algorithms = _algorithms(entry)
        if not algorithms:
            continue
        key_id = _key_id(entry)
        if key_id in keys:
            raise KeysUnusable("names one key id twice; give every key a kid of its own")
        keys[key_id], published[key_id] = Key(_public(entry, algorithms), algorithms), entry
    if not keys:
        raise KeysUnusable("must hold at least one public key for signatures that we know")
    return KeySet(keys, published)


def _entries(raw: bytes) -> list[dict[str, Any]]:
    try:
        entries = orjson.loads(raw)["keys"]
    except (ValueError, TypeError, KeyError) as error:
        raise KeysUnusable("is not a JSON Web Key Set") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise KeysUnusable("is not a JSON Web Key Set")
    if len(entries) > MAX_KEYS:
        raise KeysUnusable(f"holds more than {MAX_KEYS} keys")
    if any(entry.get("kty") == "oct" or "k" in entry for entry in entries):
        raise KeysUnusable("holds a symmetric key: whoever can verify with one can also sign with it")
    if any("d" in entry for entry in entries):
        raise KeysUnusable("holds a private key: publish public ones, and replace this one")
    return entries


def _algorithms(entry: Mapping[str, Any]) -> frozenset[str]:
    """What this key may be used with; empty when it is not for us."""
    operations, named = entry.get("key_ops"), entry.get("alg")
    if entry.get("use", "sig") != "sig" or not _may_verify(operations):
        return frozenset()
    kind = str(entry.get("kty"))
    known = _ALGORITHMS.get(kind if kind == "RSA" else f"{kind} {entry.get('crv')}", frozenset())
    return known if named is None else known & {_OTHER_NAMES.get(str(named), str(named))}


def _may_verify(operations: object) -> bool:
    return operations is None or (isinstance(operations, list) and "verify" in operations)


def _key_id(entry: Mapping[str, Any]) -> str:
    key_id = entry.get("kid", "")
    if not isinstance(key_id, str):
        raise KeysUnusable("holds a key whose kid is not a text")
    return key_id


def _public(entry: dict[str, Any], algorithms: Iterable[str]) -> Any:
    try:
        public = jwt.PyJWK(entry, min(algorithms)).key
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise KeysUnusable("holds a broken key") from error
    if isinstance(public, RSAPublicKey) and public.key_size < MIN_RSA_BITS:
        raise KeysUnusable(f"holds an RSA key of fewer than {MIN_RSA_BITS} bits")
    return public
