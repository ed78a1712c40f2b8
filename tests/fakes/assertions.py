"""Keys, facts and verification for assertions, and a transit engine in memory."""

import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from adapters.base import Target
from fakes.principals import principal
from gateway.assertions.issuing import Facts
from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.clients.vault_signatures import SigningKeys, SigningVersion

T = TypeVar("T")

AUDIENCE = "billing"
ISSUER = "https://tollhouse.corp.example"
TARGET = Target(name="billing", account="acme/billing", hosts=("billing.corp.example:8443",), audience=AUDIENCE)


def facts(**changes: Any) -> Facts:
    """What is said of one call."""
    given: dict[str, Any] = {
        "principal": principal(),
        "kind": "call",
        "call_id": "0190c0ffee",
        "run_id": "run-7",
        "tool": "refund_create",
        "side_effect": "write",
        "policy_revision": "sha256:aa",
        "arguments_digest": "sha256:bb",
    }
    return Facts(**(given | changes))


def verified(token: str, document: bytes, *, now: float, audience: str = AUDIENCE) -> Mapping[str, Any]:
    """What a service that keeps to docs/assertions.md makes of it. Raises `jwt.PyJWTError` or `KeyError`."""
    header = jwt.get_unverified_header(token)
    if header["typ"] != "tollhouse-assertion+jwt":
        raise jwt.InvalidTokenError("another token")
    keys = {one["kid"]: one for one in json.loads(document)["keys"]}
    public = jwt.PyJWK(keys[header["kid"]], "EdDSA").key
    options: Any = {"require": ["exp", "iat", "iss", "aud", "sub", "jti"], "verify_exp": False, "verify_iat": False}
    claims = jwt.decode(token, public, algorithms=["EdDSA"], audience=audience, issuer=ISSUER, options=options)
    if not claims["iat"] - 5 <= now < claims["exp"]:
        raise jwt.ExpiredSignatureError("not now")
    return dict(claims)


def parts_of(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and claims, unproven."""
    header, claims, _ = token.split(".")
    return json.loads(decoded(header)), json.loads(decoded(claims))


def decoded(text: str) -> bytes:
    """Base64url without its end."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class FakeTransit:
    """A transit engine with one key of several versions, which fails when it is told to."""

    def __init__(self, *made_at: float) -> None:
        self.made_at = list(made_at)
        self.signs_from = 0
        self.verifies_from = 1
        self.failure: VaultFailed | None = None
        self.asked: list[str] = []

    async def ask(self, question: Callable[[str], Awaitable[T]]) -> T:
        """With a token."""
        return await question("token")

    async def transit_signing_keys(self, token: str, mount: str, key: str) -> SigningKeys:
        """Those that verify."""
        self._hear("keys")
        versions = (
            SigningVersion(n, self.private(n).public_key().public_bytes_raw(), at)
            for n, at in enumerate(self.made_at, start=1)
        )
        return SigningKeys(tuple(one for one in versions if one.version >= self.verifies_from), self.signs_from)

    async def transit_sign(
        self, token: str, mount: str, key: str, version: int, messages: Sequence[bytes]
    ) -> list[bytes]:
        """By a version that may sign."""
        self._hear(f"sign {version}")
        if version < self.signs_from:
            raise VaultFailed(Trouble.REJECTED)
        return [self.private(version).sign(message) for message in messages]

    @staticmethod
    def private(version: int) -> Ed25519PrivateKey:
        """The key of a version."""
        return Ed25519PrivateKey.from_private_bytes(bytes([version]) * 32)

    def _hear(self, what: str) -> None:
        self.asked.append(what)
        if self.failure is not None:
            raise self.failure
