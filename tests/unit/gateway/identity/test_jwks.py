"""Key sets: what is a public key for us, what is left out, and what spoils the whole."""

import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from fakes.tokens import Issuer, key_set

from gateway.identity.jwks import MAX_BYTES, MAX_KEYS, KeysUnusable, parse_keys

ALGORITHMS = jwt.algorithms
RSA = json.loads(ALGORITHMS.RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048).public_key()))
SHORT_RSA = json.loads(ALGORITHMS.RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key()))
P384 = json.loads(ALGORITHMS.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key()))
P521 = json.loads(ALGORITHMS.ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP521R1()).public_key()))
ED = json.loads(ALGORITHMS.OKPAlgorithm.to_jwk(ed25519.Ed25519PrivateKey.generate().public_key()))
P256 = Issuer("k").jwk()
BARE = {name: value for name, value in P256.items() if name not in ("alg", "use")}
PRIVATE = json.loads(ALGORITHMS.ECAlgorithm.to_jwk(Issuer().private))


def parsed(*entries):
    return parse_keys(json.dumps({"keys": entries}).encode())


@pytest.mark.parametrize(
    ("entry", "algorithms"),
    [
        (P256, {"ES256"}),
        (BARE, {"ES256"}),
        (P384, {"ES384"}),
        (ED, {"EdDSA"}),
        ({**ED, "alg": "Ed25519"}, {"EdDSA"}),
        (RSA, {"RS256", "PS256"}),
        ({**RSA, "alg": "PS256"}, {"PS256"}),
        ({**RSA, "alg": "PS256", "key_ops": ["verify"]}, {"PS256"}),
    ],
)
def test_a_key_has_the_algorithms_of_its_kind(entry, algorithms):
    """Narrowed to the one that it was published for."""
    assert parsed({**entry, "kid": "a"}).find("a").algorithms == algorithms


@pytest.mark.parametrize(
    "entry",
    [
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AAAA", "kid": "new"},
        {**P521, "kid": "other"},
        {"kty": "OKP", "crv": "X25519", "x": "AAAA", "kid": "other"},
        {**RSA, "use": "enc", "kid": "other"},
        {**RSA, "alg": "RSA-OAEP", "kid": "other"},
        {**RSA, "key_ops": ["encrypt"], "kid": "other"},
        {**RSA, "key_ops": "verify", "kid": "other"},
        {**RSA, "alg": ["RS256"], "kid": "other"},
        {**P256, "kty": ["EC"]},
        {**P256, "crv": None},
        {**P256, "crv": "P-384"},
        {},
    ],
    ids=lambda entry: f"{sorted(entry)}",
)
def test_a_key_that_is_not_for_us_is_left_out(entry):
    """The issuer may publish keys of kinds and uses that we do not know (RFC 7517, 5); the others hold."""
    assert list(parsed(entry, {**P384, "kid": "ours"}).keys) == ["ours"]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "JSON Web Key Set"),
        (b"<html>", "JSON Web Key Set"),
        (b"[]", "JSON Web Key Set"),
        (b"{}", "JSON Web Key Set"),
        (b'"keys"', "JSON Web Key Set"),
        (b'{"keys": "x"}', "JSON Web Key Set"),
        (b'{"keys": [7]}', "JSON Web Key Set"),
        (b'{"keys": ' + b"[" * 100_000, "JSON Web Key Set"),
        (b"\xff\xfe", "JSON Web Key Set"),
        (b'{"keys": []}', "at least one public key"),
        (b'{"keys": [{"kty": "EC"}]}', "at least one public key"),
        (b" " * (MAX_BYTES + 1), "larger"),
        (json.dumps({"keys": [P256] * (MAX_KEYS + 1)}).encode(), "more than 256"),
    ],
    ids=range(13),
)
def test_what_is_no_set_of_public_keys_is_refused(raw, words):
    """One sentence says why."""
    with pytest.raises(KeysUnusable, match=words):
        parse_keys(raw)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kty": "oct", "k": "c2VjcmV0", "kid": "s"}, "symmetric"),
        ({"kty": "oct", "k": "c2VjcmV0", "use": "enc"}, "symmetric"),
        ({"kty": "weird", "k": "c2VjcmV0"}, "symmetric"),
        (PRIVATE, "private"),
        ({**PRIVATE, "use": "enc"}, "private"),
        (SHORT_RSA, "2048 bits"),
        ({**P256, "x": "AAAA"}, "broken"),
        ({**P256, "x": 7}, "broken"),
        ({"kty": "EC", "crv": "P-256"}, "broken"),
        ({**RSA, "n": ""}, "broken"),
        ({**RSA, "e": "!"}, "broken"),
        ({**P256, "kid": 7}, "kid"),
        ({**P256, "kid": None}, "kid"),
    ],
    ids=lambda entry: f"{sorted(entry)}",
)
def test_a_key_that_must_not_be_there_spoils_the_set(entry, words):
    """Also beside a good one; and no secret is quoted."""
    with pytest.raises(KeysUnusable, match=words) as caught:
        parsed({**P384, "kid": "good"}, entry)
    assert "c2VjcmV0" not in repr(caught.value)
    assert PRIVATE["d"] not in repr(caught.value)


def test_two_keys_with_one_id_are_refused():
    """Which of them a token means would be chance. So would it be of two without any."""
    nameless = Issuer().jwk()
    del nameless["kid"]
    for entries in ((P256, {**P384, "kid": "k"}), (nameless, nameless)):
        with pytest.raises(KeysUnusable, match="kid"):
            parsed(*entries)


def test_a_token_without_a_key_id_means_the_only_key():
    """Of several it means none."""
    one, two = Issuer("a"), Issuer("b")
    assert key_set(one).find(None) is not None
    assert key_set(one, two).find(None) is None


@pytest.mark.parametrize("key_id", ["c", "", 7, ["a"], {}])
def test_an_unknown_key_id_finds_nothing(key_id):
    """Whatever its type."""
    assert key_set(Issuer("a")).find(key_id) is None


def test_sets_are_equal_when_they_hold_the_same_keys():
    """In any order; another key of the same id makes another set."""
    one, two = Issuer("a"), Issuer("b")
    assert key_set(one, two) == key_set(two, one)
    assert key_set(one) != key_set(one, two)
    assert key_set(one) != key_set(Issuer("a"))
