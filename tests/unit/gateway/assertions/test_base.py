"""The compact form."""

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gateway.assertions.base import compact, signing_input
from gateway.assertions.keys import PublicKey


def test_the_form_is_what_a_library_reads_and_writes() -> None:
    """The header names the algorithm, the key and what kind of token it is; the claims are the very bytes."""
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    key = PublicKey(private.public_key().public_bytes_raw())
    signed = signing_input(key, b'{"sub":"a"}')
    token = compact(signed, private.sign(signed))
    header = {"alg": "EdDSA", "kid": key.kid, "typ": "tollhouse-assertion+jwt"}
    assert jwt.get_unverified_header(token) == header
    assert jwt.api_jws.decode(token, private.public_key(), algorithms=["EdDSA"]) == b'{"sub":"a"}'
    assert "=" not in token
