"""An issuer of tokens: real keys, real signatures."""

import json
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

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

    def publish(self, path: Path) -> Path:
        """Write a key set that holds this key alone."""
        path.write_text(json.dumps({"keys": [self.jwk()]}))
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
