"""Public keys as they are published."""

import json

import pytest

from gateway.assertions.keys import PublicKey, key_set, named_keys
from gateway.errors import StartError
from gateway.settings.assertions import PublicJwk

RFC_8037 = PublicJwk(kty="OKP", crv="Ed25519", x="11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")


def test_the_example_of_rfc_8037() -> None:
    """Its thumbprint is A.3's."""
    (key,) = named_keys([RFC_8037])
    assert key.kid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert key.jwk() == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": RFC_8037.x,
        "kid": key.kid,
        "alg": "EdDSA",
        "use": "sig",
    }


def test_a_set_holds_each_key_once() -> None:
    """In their order, whichever part of the settings or the signer names them."""
    one, other = PublicKey(bytes(32)), PublicKey(bytes([1]) * 32)
    assert json.loads(key_set([one, other, PublicKey(bytes(32))])) == {"keys": [one.jwk(), other.jwk()]}


def test_a_key_that_is_called_otherwise_is_refused() -> None:
    """A service would look for it in vain."""
    with pytest.raises(StartError, match="is not the key's thumbprint, which is kPrK"):
        named_keys([RFC_8037.model_copy(update={"kid": "mine"})])
