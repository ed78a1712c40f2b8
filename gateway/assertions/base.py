"""What signs assertions, and what a signed one looks like (RFC 7515, compact)."""

import base64
from typing import Protocol

import orjson

from adapters.base import Fault
from gateway.assertions.keys import PublicKey

ALGORITHM = "EdDSA"
TYPE = "tollhouse-assertion+jwt"
"""Tells an assertion from every other token (RFC 8725, 3.11)."""


class NotSigned(Exception):  # noqa: N818 - named for what it is
    """Nobody could sign now. The text is one sentence for operators."""

    def __init__(self, sentence: str, *, fault: Fault, is_for_good: bool = False) -> None:
        """`is_for_good` until somebody mends it."""
        super().__init__(sentence)
        self.fault = fault
        self.is_for_good = is_for_good


class Signer(Protocol):
    """Signs claims under the key of the moment."""

    async def start(self) -> None:
        """It can sign. Raises `StartError`."""
        ...

    async def stop(self) -> None:
        """Follow the key no longer. Harmless when it was not started."""
        ...

    def keys(self) -> tuple[PublicKey, ...]:
        """What verifies what was signed a while ago, what is signed now, and what is signed soon. Asks nobody."""
        ...

    async def sign(self, claims: bytes) -> str:
        """The claims, a JSON object, as a compact JWS. Raises `NotSigned`."""
        ...


def signing_input(key: PublicKey, claims: bytes) -> bytes:
    """What is signed: the header, which names the key, and the claims."""
    header = orjson.dumps({"alg": ALGORITHM, "kid": key.kid, "typ": TYPE})
    return _base64url(header) + b"." + _base64url(claims)


def compact(signed: bytes, signature: bytes) -> str:
    """Both as one text."""
    return (signed + b"." + _base64url(signature)).decode()


def _base64url(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")
