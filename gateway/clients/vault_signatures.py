"""What a transit engine answers about its Ed25519 keys and signatures."""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from gateway.clients.vault_answers import Trouble, VaultFailed, mapping_in

ED25519 = "ed25519"


class SigningKey(NamedTuple):
    """One version of a key, and the 32 bytes that verify what it signs."""

    version: int
    public: bytes


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
    """So many signatures by this version, in the order in which they were asked for. Raises `VaultFailed`."""
    results = mapping_in(answer.get("data")).get("batch_results")
    if not isinstance(results, list) or len(results) != count:
        raise VaultFailed(Trouble.MALFORMED)
    return [_signature(mapping_in(result).get("signature"), f"vault:v{version}:") for result in results]


def _signature(text: Any, prefix: str) -> bytes:
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
