"""Tokens: what is pinned, what is remembered, and for how long."""

import base64
import json
import os

import pytest
from cryptography.hazmat.primitives import serialization
from fakes.clock import FakeClock
from fakes.tokens import AUDIENCE, ISSUER, Issuer

from gateway.errors import StartError, Unauthenticated
from gateway.identity.jwt import FILE_CHECK_SECONDS, JwtAuthenticator, bearer_token, read_keys
from gateway.settings.listeners import JwtIdentity

NOW = 1_800_000_000.0


@pytest.fixture
def clock():
    return FakeClock(now=NOW)


@pytest.fixture
def issuer():
    return Issuer()


@pytest.fixture
def jwks(issuer, tmp_path):
    return issuer.publish(tmp_path / "jwks.json")


@pytest.fixture(autouse=True)
def _the_library_sees_the_same_time(monkeypatch):
    """PyJWT takes its time from datetime; the tokens here are valid by it too."""
    import datetime as dt

    class At(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return dt.datetime.fromtimestamp(NOW, tz)

    monkeypatch.setattr("jwt.api_jwt.datetime", At)


def authenticator(jwks, clock, **changes):
    settings = JwtIdentity(kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file=jwks, **changes)
    return JwtAuthenticator(settings, clock)


def bearer(token):
    return (("authorization", f"Bearer {token}"),)


def test_a_valid_token_is_its_principal(issuer, jwks, clock):
    """Every field comes from the verified claims; other claims are kept for policy."""
    principal = authenticator(jwks, clock).authenticate(bearer(issuer.token(now=NOW, team="ops")))
    assert (principal.tenant, principal.id, principal.agent, principal.proof) == ("acme", "run-7", "helper", "jwt")
    assert principal.scopes == {"web:read", "mail:send"}
    assert principal.claims == {"team": "ops"}


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"aud": "other"},
        {"exp": int(NOW) - 3600},
        {"nbf": int(NOW) + 3600},
        {"exp": None},
        {"sub": None},
        {"tenant": None},
        {"agent": ""},
        {"tenant": 7},
        {"scope": 7},
        {"scope": [1]},
        {"roles": {"a": 1}},
        {"agent": "x" * 300},
        {"agent": "helper\x1b[2J"},
        {"sub": "a\nb"},
        {"agent": "half \ud800"},
        {"other": "half \ud800"},
        {"other": 2**70},
        {"exp": float("inf")},
    ],
    ids=str,
)
def test_a_token_with_wrong_claims_is_nobody(claims, issuer, jwks, clock):
    """Wrong issuer, audience, time, or a missing or ill-typed claim: unauthenticated."""
    with pytest.raises(Unauthenticated):
        authenticator(jwks, clock).authenticate(bearer(issuer.token(now=NOW, **claims)))


def test_a_token_of_another_key_is_nobody(issuer, jwks, clock):
    """The same key id signed by somebody else does not pass."""
    with pytest.raises(Unauthenticated):
        authenticator(jwks, clock).authenticate(bearer(Issuer().token(now=NOW)))


def test_the_algorithm_is_pinned_by_settings_and_not_by_the_token(issuer, jwks, clock):
    """`none`, and HS256 keyed with the public key, are refused (RFC 8725, 2.1)."""
    public = issuer.private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _, payload, _ = issuer.token(now=NOW).split(".")
    for algorithm in ("none", "HS256"):
        forged_header = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "kid": "k1"}).encode()).rstrip(b"=")
        import hashlib
        import hmac

        signed = forged_header + b"." + payload.encode()
        mac = base64.urlsafe_b64encode(hmac.new(public, signed, hashlib.sha256).digest()).rstrip(b"=")
        token = (signed + b"." + (mac if algorithm == "HS256" else b"")).decode()
        with pytest.raises(Unauthenticated):
            authenticator(jwks, clock).authenticate(bearer(token))


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", "Basic abc"),),
        (("authorization", "Bearer "),),
        (("authorization", "Bearer not.a.token"),),
        (("authorization", b"Bearer x"),),
        (("authorization", "Bearer " + "x" * 20_000),),
        (("authorization", "Bearer a"), ("authorization", "Bearer b")),
        (("authorization", "Bearer \x00\xff"),),
    ],
    ids=range(8),
)
def test_anything_but_one_token_is_nobody(metadata, jwks, clock):
    """No token, two tokens, garbage: unauthenticated, and nothing else is raised."""
    with pytest.raises(Unauthenticated):
        authenticator(jwks, clock).authenticate(metadata)


def test_a_verified_token_is_remembered_until_it_expires(issuer, jwks, clock):
    """The very same principal comes back, and no longer once the token has expired."""
    auth = authenticator(jwks, clock, leeway_seconds=0)
    metadata = bearer(issuer.token(now=NOW, exp=int(NOW) + 60))
    assert auth.authenticate(metadata) is auth.authenticate(metadata)
    first = auth.authenticate(metadata)
    clock.advance(61)
    again = None
    try:
        again = auth.authenticate(metadata)
    except Unauthenticated:
        return
    assert again is not first, "an expired token was answered from memory"


def test_a_removed_key_is_out_at_the_next_look(issuer, jwks, clock):
    """When the file changes, remembered tokens are forgotten and the new keys hold."""
    auth = authenticator(jwks, clock)
    metadata = bearer(issuer.token(now=NOW))
    auth.authenticate(metadata)
    other = Issuer("k2")
    other.publish(jwks)
    os.utime(jwks, ns=(1, 1))
    clock.advance(FILE_CHECK_SECONDS)
    with pytest.raises(Unauthenticated):
        auth.authenticate(metadata)
    assert auth.authenticate(bearer(other.token(now=NOW))).agent == "helper"


def test_a_key_set_that_is_gone_or_garbage_lets_nobody_in(issuer, jwks, clock):
    """Fail closed, and recover when the file is back."""
    auth = authenticator(jwks, clock)
    metadata = bearer(issuer.token(now=NOW))
    auth.authenticate(metadata)
    jwks.write_text("{")
    clock.advance(FILE_CHECK_SECONDS)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            auth.authenticate(metadata)
    issuer.publish(jwks)
    clock.advance(FILE_CHECK_SECONDS)
    assert auth.authenticate(metadata).tenant == "acme"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"keys": []}',
        '{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "s"}]}',
        '{"keys": [{"kty": "EC"}]}',
        '{"keys": "x"}',
    ],
    ids=range(7),
)
def test_a_file_that_is_no_set_of_public_keys_does_not_start(text, tmp_path):
    """One sentence says what is wrong with the file."""
    path = tmp_path / "jwks.json"
    path.write_text(text)
    with pytest.raises(StartError, match=r"jwks\.json"):
        read_keys(path)


def test_two_keys_with_one_id_do_not_start(tmp_path):
    """Which of them a token means would be chance."""
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [Issuer("k").jwk(), Issuer("k").jwk()]}))
    with pytest.raises(StartError, match="kid"):
        read_keys(path)


def test_the_scheme_is_case_insensitive():
    """`bearer` is `Bearer` (RFC 7235, 2.1)."""
    assert bearer_token((("authorization", "bearer abc"),)) == "abc"
