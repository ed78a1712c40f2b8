"""What a transit engine answers about its Ed25519 keys and signatures."""

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from gateway.clients.vault_answers import Trouble, VaultFailed, mapping_in

ED25519 = "ed25519"


class SigningKey(NamedTuple):
    """One version of a key, and the 32 bytes that verify what it signs."""

    version: int
    public: bytes


class SigningVersion(NamedTuple):
    """One version of a key, the 32 bytes that verify what it signs, and when it was made (seconds since the epoch)."""

    version: int
    public: bytes
    made_at: float


class SigningKeys(NamedTuple):
    """Every version of a key that its engine verifies by, the oldest first, and the first that may still sign."""

    versions: tuple[SigningVersion, ...]
    signs_from: int


def signing_keys_in(answer: Mapping[str, Any]) -> SigningKeys:
    """Every version, at least one of which may sign. Raises `VaultFailed`: `REJECTED` when the key is of another kind
    than Ed25519.
    """
    data = mapping_in(answer.get("data"))
    if data.get("type") != ED25519:
        raise VaultFailed(Trouble.REJECTED)
    verifies_from, signs_from = data.get("min_decryption_version"), data.get("min_encryption_version")
    if type(verifies_from) is not int or type(signs_from) is not int:
        raise VaultFailed(Trouble.MALFORMED)
    versions = (_version(name, mapping_in(one)) for name, one in mapping_in(data.get("keys")).items())
    found = tuple(sorted(one for one in versions if one.version >= verifies_from))
    if not found or found[-1].version < signs_from:
        raise VaultFailed(Trouble.MALFORMED)
    return SigningKeys(found, signs_from)


def _version(name: str, one: Mapping[str, Any]) -> SigningVersion:
    try:
        made_at = datetime.fromisoformat(one.get("creation_time", "")).timestamp()
        return SigningVersion(int(name), _decoded(one.get("public_key"), 32), made_at)
    except (TypeError, ValueError, OverflowError):
        pass  # not chained: nothing of an answer is in an error
    raise VaultFailed(Trouble.MALFORMED)


def signing_key_in(answer: Mapping[str, Any]) -> SigningKey:
    """The newest version. Raises `VaultFailed`: `REJECTED` when the key is of another kind than Ed25519."""
    data = mapping_in(answer.get("data"))
    if data.get("type") != ED25519:
        raise VaultFailed(Trouble.REJECTED)
    version = data.get("latest_version")
    if type(version) is not int:
        raise VaultFailed(Trouble.MALFORMED)
    newest = mapping_in(mapping_in(data.get("keys")).get(str(version)))
    return SigningKey(version, _decoded(newest.get("public_key"), 32))


def signatures_in(answer: Mapping[str, Any], version: int, count: int) -> list[bytes]:
    """So many signatures by this version, in the order in which they were asked for. Raises `VaultFailed`: `REJECTED`
    when the engine does not sign one of them, with a version that may sign no more, for instance.
    """
    results = mapping_in(answer.get("data")).get("batch_results")
    if not isinstance(results, list) or len(results) != count:
        raise VaultFailed(Trouble.MALFORMED)
    return [_signature(mapping_in(result), f"vault:v{version}:") for result in results]


def _signature(result: Mapping[str, Any], prefix: str) -> bytes:
    if result.get("error"):
        raise VaultFailed(Trouble.REJECTED)
    text = result.get("signature")
    if not isinstance(text, str) or not text.startswith(prefix):
        raise VaultFailed(Trouble.MALFORMED)
    return _decoded(text.removeprefix(prefix), 64)


def _decoded(text: Any, size: int) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raw = b""
    if len(raw) != size:
        raise VaultFailed(Trouble.MALFORMED)
    return raw
