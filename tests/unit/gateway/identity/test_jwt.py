"""Tokens: what is pinned, what is remembered, and for how long."""

import asyncio
import base64
import json

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from fakes.clock import FakeClock
from fakes.principals import FakeProof, bearer
from fakes.tokens import AUDIENCE, ISSUER, FakeKeys, Issuer, key_set

from gateway.call import CallerKind
from gateway.errors import Unauthenticated
from gateway.identity.jwks import parse_keys
from gateway.identity.jwt import JwtAuthenticator, bearer_token
from gateway.settings.listeners import JwtIdentity

NOW = 1_800_000_000.0


@pytest.fixture
def clock():
    return FakeClock(now=NOW)


@pytest.fixture
def issuer():
    return Issuer()


@pytest.fixture
def jwks(issuer):
    return FakeKeys(issuer)


@pytest.fixture(autouse=True)
def _the_library_sees_the_same_time(monkeypatch):
    """PyJWT takes its time from datetime; the tokens here are valid by it too."""
    import datetime as dt

    class At(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return dt.datetime.fromtimestamp(NOW, tz)

    monkeypatch.setattr("jwt.api_jwt.datetime", At)


def authenticator(keys, clock, **changes):
    settings = JwtIdentity(kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file="unused", **changes)
    return JwtAuthenticator(settings, keys, clock)


async def test_a_valid_token_is_its_principal(issuer, jwks, clock):
    """Every field comes from the verified claims; other claims are kept for policy."""
    principal = await authenticator(jwks, clock).authenticate(bearer(issuer.token(now=NOW, team="ops")))
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
async def test_a_token_with_wrong_claims_is_nobody(claims, issuer, jwks, clock):
    """Wrong issuer, audience, time, or a missing or ill-typed claim: unauthenticated."""
    with pytest.raises(Unauthenticated):
        await authenticator(jwks, clock).authenticate(bearer(issuer.token(now=NOW, **claims)))


async def test_a_token_of_another_key_is_nobody(issuer, jwks, clock):
    """The same key id signed by somebody else does not pass."""
    with pytest.raises(Unauthenticated):
        await authenticator(jwks, clock).authenticate(bearer(Issuer().token(now=NOW)))


async def test_the_algorithm_is_pinned_by_settings_and_not_by_the_token(issuer, jwks, clock):
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
            await authenticator(jwks, clock).authenticate(bearer(token))


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
async def test_anything_but_one_token_is_nobody(metadata, jwks, clock):
    """No token, two tokens, garbage: unauthenticated, and nothing else is raised."""
    with pytest.raises(Unauthenticated):
        await authenticator(jwks, clock).authenticate(FakeProof(metadata=metadata))


async def test_a_verified_token_is_remembered_until_it_expires(issuer, jwks, clock):
    """The very same principal comes back, and no longer once the token has expired."""
    auth = authenticator(jwks, clock, leeway_seconds=0)
    metadata = bearer(issuer.token(now=NOW, exp=int(NOW) + 60))
    first = await auth.authenticate(metadata)
    assert await auth.authenticate(metadata) is first
    clock.advance(61)
    again = None
    try:  # PyJWT has a clock of its own here, which stands still
        again = await auth.authenticate(metadata)
    except Unauthenticated:
        return
    assert again is not first, "an expired token was answered from memory"


async def test_any_change_of_the_keys_empties_what_is_remembered(issuer, clock):
    """A removed key is out at once; another key that merely came is no reason to trust what was remembered."""
    keys = FakeKeys(issuer)
    auth = authenticator(keys, clock)
    proof = bearer(issuer.token(now=NOW))
    first = await auth.authenticate(proof)
    keys.keys = key_set(issuer, Issuer("k2"))
    again = await auth.authenticate(proof)
    assert again == first
    assert again is not first
    keys.keys = key_set(Issuer("k2"))
    with pytest.raises(Unauthenticated):
        await auth.authenticate(proof)


async def test_while_no_key_set_holds_a_remembered_token_does_not_either(issuer, clock):
    """Fail closed; the same set back again is enough."""
    keys = FakeKeys(issuer)
    auth = authenticator(keys, clock)
    proof = bearer(issuer.token(now=NOW))
    await auth.authenticate(proof)
    held, keys.keys = keys.keys, None
    with pytest.raises(Unauthenticated):
        await auth.authenticate(proof)
    keys.keys = held
    assert (await auth.authenticate(proof)).tenant == "acme"


async def test_an_unknown_key_is_looked_for_once_and_then_found(issuer, clock):
    """The caller waits for the newer set and is let in by it."""
    new = Issuer("k2")
    keys = FakeKeys(issuer)
    keys.newer = key_set(issuer, new)
    assert (await authenticator(keys, clock).authenticate(bearer(new.token(now=NOW)))).agent == "helper"
    assert keys.looks == 1


@pytest.mark.parametrize("algorithm", ["HS256", "ES384"])
async def test_a_token_that_cannot_pass_anyway_makes_nobody_look(algorithm, issuer, clock):
    """Its algorithm is not among ours."""
    keys = FakeKeys(issuer)
    key = b"x" * 64 if algorithm == "HS256" else ec.generate_private_key(ec.SECP384R1())
    token = Issuer("k9").token(now=NOW, algorithm=algorithm, key=key)
    with pytest.raises(Unauthenticated):
        await authenticator(keys, clock).authenticate(bearer(token))
    assert keys.looks == 0


async def test_a_known_key_never_waits_for_a_look(issuer, clock):
    """While a stranger's unknown key is looked for, everybody else passes."""
    keys = FakeKeys(issuer)
    keys.gate = asyncio.Event()
    auth = authenticator(keys, clock)
    stranger = asyncio.create_task(auth.authenticate(bearer(Issuer("k9").token(now=NOW))))
    await asyncio.sleep(0)
    assert (await auth.authenticate(bearer(issuer.token(now=NOW)))).agent == "helper"
    keys.gate.set()
    with pytest.raises(Unauthenticated):
        await stranger


async def test_a_key_that_went_while_another_was_looked_for_does_not_pass(issuer, clock):
    """What holds is the set after the look."""
    keys = FakeKeys(issuer)
    keys.newer = key_set(Issuer("k2"))
    auth = authenticator(keys, clock)
    proof = bearer(issuer.token(now=NOW))
    await auth.authenticate(proof)
    with pytest.raises(Unauthenticated):
        await auth.authenticate(bearer(Issuer("k9").token(now=NOW)))
    with pytest.raises(Unauthenticated):
        await auth.authenticate(proof)


async def test_a_key_is_used_with_its_own_algorithm_alone(issuer, clock):
    """Though both are allowed: an RSA key that is published for RS256 does not take PS256."""
    private = rsa.generate_private_key(65537, 2048)
    entry = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private.public_key()))
    keys = FakeKeys(issuer)
    keys.keys = parse_keys(json.dumps({"keys": [{**entry, "kid": "k1", "alg": "RS256"}]}).encode())
    auth = authenticator(keys, clock, algorithms=("RS256", "PS256"))
    assert await auth.authenticate(bearer(issuer.token(now=NOW, algorithm="RS256", key=private)))
    with pytest.raises(Unauthenticated):
        await auth.authenticate(bearer(issuer.token(now=NOW, algorithm="PS256", key=private)))


async def test_what_is_remembered_is_bounded(issuer, clock, monkeypatch):
    """The oldest goes first."""
    monkeypatch.setattr("gateway.identity.jwt.CACHED_TOKENS", 2)
    auth = authenticator(FakeKeys(issuer), clock)
    for number in range(4):
        await auth.authenticate(bearer(issuer.token(now=NOW, sub=f"run-{number}")))
    assert [principal.id for _, principal in auth._verified.values()] == ["run-2", "run-3"]


@pytest.mark.parametrize("spoil", [{"aud": "other"}, {"agent": "half \ud800"}, {"exp": 1}, {"iss": "x"}], ids=str)
async def test_nothing_of_a_token_is_in_the_error_or_behind_it(spoil, issuer, clock):
    """The error's words are ours, and no other error is chained to it."""
    token = issuer.token(now=NOW, secret_claim="s3cr3t", **spoil)
    for proof in (bearer(token), bearer(token[:-3]), bearer("\xff" + token), bearer(token.replace(".", ""))):
        with pytest.raises(Unauthenticated) as caught:
            await authenticator(FakeKeys(issuer), clock).authenticate(proof)
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        assert not {token[:20], "s3cr3t", "run-7", "acme"} & set(repr(caught.value).split())


async def test_starting_and_stopping_are_the_key_sources(issuer, clock):
    """And its status is the authenticator's."""
    keys = FakeKeys(issuer)
    auth = authenticator(keys, clock)
    await auth.start()
    assert (keys.is_running, auth.status().is_ready) == (True, True)
    await auth.stop()
    assert not keys.is_running


def test_the_scheme_is_case_insensitive():
    """`bearer` is `Bearer` (RFC 7235, 2.1)."""
    assert bearer_token((("authorization", "bearer abc"),)) == "abc"


async def test_people_bring_tokens_that_name_no_agent(issuer, clock):
    """Where the settings say so, and they are what the settings say."""
    auth = authenticator(FakeKeys(issuer), clock, needs_agent=False, principal_kind="human")
    person = await auth.authenticate(bearer(issuer.token(now=NOW, agent=None, sub="ann")))
    assert (person.kind, person.id, person.agent) == (CallerKind.HUMAN, "ann", "")


async def test_an_agents_token_is_no_persons(issuer, clock):
    """It is not let in where people are expected, however the agent is named; elsewhere a person must name one."""
    auth = authenticator(FakeKeys(issuer), clock, needs_agent=False, principal_kind="human")
    for agent in ("helper", "", 7):
        with pytest.raises(Unauthenticated):
            await auth.authenticate(bearer(issuer.token(now=NOW, agent=agent)))
    with pytest.raises(Unauthenticated):
        await authenticator(FakeKeys(issuer), clock).authenticate(bearer(issuer.token(now=NOW, agent=None)))


@pytest.mark.parametrize("kind", list(CallerKind))
async def test_a_claim_can_say_what_a_caller_is(kind, issuer, clock):
    """The issuer vouches for it, beside an agent too, and it is not told to policy a second time."""
    auth = authenticator(FakeKeys(issuer), clock, kind_claim="kind", needs_agent=False)
    found = await auth.authenticate(bearer(issuer.token(now=NOW, kind=kind.value)))
    assert (found.kind, found.agent) == (kind, "helper")
    assert "kind" not in found.claims


@pytest.mark.parametrize("kind", [None, "robot", "Human", 1, ["human"]])
async def test_a_token_that_does_not_say_what_a_caller_is_is_refused(kind, issuer, clock):
    """Nobody becomes a person by leaving it out."""
    auth = authenticator(FakeKeys(issuer), clock, kind_claim="kind", principal_kind="human", needs_agent=False)
    with pytest.raises(Unauthenticated) as caught:
        await auth.authenticate(bearer(issuer.token(now=NOW, agent=None, kind=kind)))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
