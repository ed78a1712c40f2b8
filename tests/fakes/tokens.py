"""An issuer of tokens: real keys, real signatures. And a source of its keys."""

import asyncio
import json
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from gateway.errors import Unauthenticated
from gateway.identity.base import AuthStatus
from gateway.identity.jwks import KeySet, parse_keys

ISSUER = "https://issuer.example"
AUDIENCE = "tollhouse"


class Issuer:
    """Signs tokens and publishes its public keys."""

    def __init__(self, key_id: str = "k1") -> None:
        self.key_id = key_id
        self.private = ec.generate_private_key(ec.SECP256R1())

    def jwk(self) -> dict[str, Any]:
        """The public key."""
        key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.private.public_key()))
        return {**key, "kid": self.key_id, "alg": "ES256", "use": "sig"}

    def document(self, *others: "Issuer") -> bytes:
        """A key set with this key and those of the others."""
        return json.dumps({"keys": [issuer.jwk() for issuer in (self, *others)]}).encode()

    def publish(self, path: Path) -> Path:
        """Write a key set that holds this key alone."""
        path.write_bytes(self.document())
        return path

    def token(self, *, now: float, algorithm: str = "ES256", key: Any = None, **claims: Any) -> str:
        """A token that is valid for five minutes, with the claims given in place of the usual ones."""
        usual = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "run-7",
            "tenant": "acme",
            "agent": "helper",
            "scope": "web:read mail:send",
            "roles": ["assistant"],
            "iat": int(now),
            "exp": int(now) + 300,
        }
        content = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(content, key or self.private, algorithm=algorithm, headers={"kid": self.key_id})


class FakeKeys:
    """A `KeySource` whose set is what a test says; `newer` is what a look again finds."""

    def __init__(self, *issuers: Issuer) -> None:
        self.keys: KeySet | None = key_set(*issuers)
        self.newer: KeySet | None = None
        self.gate: asyncio.Event | None = None
        self.looks = 0
        self.is_running = False

    async def start(self) -> None:
        """Run."""
        self.is_running = True

    async def stop(self) -> None:
        """Run no longer."""
        self.is_running = False

    def current(self) -> KeySet:
        """As told."""
        if self.keys is None:
            raise Unauthenticated("there is no key set")
        return self.keys

    async def look_again(self) -> None:
        """Count, wait for the gate, and find what is newer."""
        self.looks += 1
        if self.gate is not None:
            await self.gate.wait()
        self.keys = self.newer or self.keys

    def status(self) -> AuthStatus:
        """Ready while there are keys."""
        return AuthStatus(is_ready=self.keys is not None)


def key_set(*issuers: Issuer) -> KeySet:
    """The public keys of these issuers."""
    return parse_keys(issuers[0].document(*issuers[1:]))
