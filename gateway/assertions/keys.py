"""Public Ed25519 keys as JSON Web Keys (RFC 8037), each called by its thumbprint (RFC 7638)."""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from gateway.errors import StartError
from gateway.settings.assertions import PublicJwk


@dataclass(frozen=True, slots=True)
class PublicKey:
    """What verifies. `kid` is its thumbprint, so that one key has one name everywhere."""

    raw: bytes
    """32 bytes."""
    kid: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        members = orjson.dumps({"crv": "Ed25519", "kty": "OKP", "x": _text(self.raw)})
        object.__setattr__(self, "kid", _text(hashlib.sha256(members).digest()))

    def jwk(self) -> dict[str, str]:
        """As it is published."""
        return {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": _text(self.raw),
            "kid": self.kid,
            "alg": "EdDSA",
            "use": "sig",
        }


def named_keys(jwks: Iterable[PublicJwk]) -> tuple[PublicKey, ...]:
    """The keys of settings. Raises `StartError` for one that is called otherwise than it was when it signed."""
    keys = []
    for jwk in jwks:
        key = PublicKey(base64.urlsafe_b64decode(f"{jwk.x}="))
        if jwk.kid not in ("", key.kid):
            message = f"assertions.former: the kid {jwk.kid!r} is not the key's thumbprint, which is {key.kid}"
            raise StartError(f"{message}; leave it out, or correct the key")
        keys.append(key)
    return tuple(keys)


def key_set(keys: Iterable[PublicKey]) -> bytes:
    """A JSON Web Key Set of these, each once and in their order."""
    return orjson.dumps({"keys": [key.jwk() for key in dict.fromkeys(keys)]})


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
