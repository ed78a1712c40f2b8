"""What every authenticator promises: a principal with its policy view, or `Unauthenticated`."""

import base64
import datetime as dt
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import orjson
import pytest
from fakes.authorities import Authority
from fakes.http import document_server, serving
from fakes.principals import FakeAuthenticator, FakeProof, bearer, principal
from fakes.tokens import AUDIENCE, ISSUER, Issuer

from gateway.clients.http import HttpClient
from gateway.clock import SystemClock
from gateway.errors import Unauthenticated
from gateway.identity.base import Authenticator
from gateway.identity.fixed import FixedAuthenticator
from gateway.identity.jwks import KeySource
from gateway.identity.jwt import JwtAuthenticator
from gateway.identity.keys_file import FileKeys
from gateway.identity.keys_url import UrlKeys
from gateway.identity.mtls import MtlsAuthenticator
from gateway.settings.listeners import JwtIdentity, MtlsIdentity, Peer

SCOPES = ("web:read", "mail:send")
URI = "spiffe://corp.example/acme/helper"
HOUR = dt.timedelta(hours=1)
PROOFLESS = FakeProof(metadata=(("tenant", "acme"), ("agent", "helper"), ("x-forwarded-user", "admin")))


@dataclass
class Case:
    """An authenticator that runs, a proof that it takes, and proofs that it must not take, by name."""

    authenticator: Authenticator
    good: FakeProof
    bad: dict[str, FakeProof] = field(default_factory=dict)


Build = Callable[[Path], AbstractAsyncContextManager[Case]]


@asynccontextmanager
async def fixed(_folder: Path) -> AsyncIterator[Case]:
    """Whoever opens the socket."""
    yield Case(FixedAuthenticator(principal(id="run-7", scopes=frozenset(SCOPES))), FakeProof())


@asynccontextmanager
async def fake(_folder: Path) -> AsyncIterator[Case]:
    """The fake that other tests stand on."""
    word = ("who", "run-7")
    bad = {
        "no proof": PROOFLESS,
        "two proofs": FakeProof(metadata=(word, word)),
        "garbage": FakeProof(metadata=(("who", b"\xff"),)),
    }
    who = principal(id="run-7", scopes=frozenset(SCOPES))
    yield Case(FakeAuthenticator(who), FakeProof(metadata=(word,)), bad)


def tokens(issuer: Issuer, settings: JwtIdentity, keys: KeySource) -> Case:
    """An authenticator for tokens, and every way to be wrong."""
    now = time.time()
    good = issuer.token(now=now)
    head, body, mac = good.split(".")
    two = (("authorization", f"Bearer {good}"), ("authorization", f"Bearer {issuer.token(now=now, sub='b')}"))
    admin = base64.urlsafe_b64encode(orjson.dumps({"sub": "admin", "exp": now + 99})).rstrip(b"=").decode()
    bad = {
        "no proof": PROOFLESS,
        "two proofs": FakeProof(metadata=two),
        "garbage": bearer("garbage.garbage.garbage"),
        "half a token": bearer(good[: len(good) // 2]),
        "not a bearer": FakeProof(metadata=(("authorization", f"Basic {good}"),)),
        "bytes": FakeProof(metadata=(("authorization", f"Bearer {good}".encode()),)),
        "other claims": bearer(f"{head}.{admin}.{mac}"),
        "no signature": bearer(f"{head}.{body}."),
        "no algorithm": bearer(jwt.encode({"sub": "admin"}, None, algorithm="none", headers={"kid": issuer.key_id})),
        "other algorithm": bearer(issuer.token(now=now, algorithm="HS256", key=b"k" * 32)),
        "other key": bearer(Issuer(issuer.key_id).token(now=now)),
        "unknown key": bearer(Issuer("k9").token(now=now)),
        "foreign issuer": bearer(issuer.token(now=now, iss="https://evil.example")),
        "foreign audience": bearer(issuer.token(now=now, aud="somebody else")),
        "expired": bearer(issuer.token(now=now, exp=int(now) - 3600)),
        "not yet": bearer(issuer.token(now=now, nbf=int(now) + 3600)),
        "never ends": bearer(issuer.token(now=now, exp=None)),
    }
    return Case(JwtAuthenticator(settings, keys, SystemClock()), bearer(good), bad)


@asynccontextmanager
async def jwt_file(folder: Path) -> AsyncIterator[Case]:
    """Tokens, by keys in a file."""
    issuer = Issuer()
    path = issuer.publish(folder / "jwks.json")
    settings = JwtIdentity(kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file=path)
    yield tokens(issuer, settings, FileKeys(path, time.monotonic))


@asynccontextmanager
async def jwt_url(_folder: Path) -> AsyncIterator[Case]:
    """Tokens, by keys at a URL."""
    issuer = Issuer()
    async with document_server() as server:
        server.answer = serving(issuer.document())
        settings = JwtIdentity(kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_url=server.url)
        yield tokens(issuer, settings, UrlKeys(settings, HttpClient(), SystemClock()))


@asynccontextmanager
async def mtls(_folder: Path) -> AsyncIterator[Case]:
    """Client certificates."""
    authority = Authority()
    peer = Peer(
        san="spiffe://corp.example/{tenant}/{agent}",
        tenant="{tenant}",
        agent="{agent}",
        principal="run-7",
        scopes=SCOPES,
        roles=("assistant",),
    )
    good = authority.issue(URI)
    now = dt.datetime.now(dt.UTC)
    bad = {
        "no proof": PROOFLESS,
        "two proofs": FakeProof(certificate=good + authority.issue("spiffe://corp.example/acme/other")),
        "garbage": FakeProof(certificate=b"-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n"),
        "half a certificate": FakeProof(certificate=good[: len(good) // 2]),
        "common name": FakeProof(certificate=authority.issue(common_name=URI)),
        "other name": FakeProof(certificate=authority.issue("spiffe://evil.example/acme/helper")),
        "two names": FakeProof(certificate=authority.issue(URI, "spiffe://corp.example/acme/b")),
        "expired": FakeProof(certificate=authority.issue(URI, not_before=now - 2 * HOUR)),
        "not yet": FakeProof(certificate=authority.issue(URI, not_before=now + HOUR)),
        "a token": FakeProof(metadata=(("authorization", "Bearer x"),)),
    }
    authenticator = MtlsAuthenticator(MtlsIdentity(kind="mtls", peers=(peer,)), SystemClock())
    yield Case(authenticator, FakeProof(certificate=good), bad)


ALL = [fixed, fake, jwt_file, jwt_url, mtls]
PROVEN = ALL[1:]
"""Those whose callers have to bring something."""


@asynccontextmanager
async def running(build: Build, folder: Path) -> AsyncIterator[Case]:
    """The case, started; stopped in the end."""
    async with build(folder) as case:
        await case.authenticator.start()
        try:
            yield case
        finally:
            await case.authenticator.stop()


async def nobody(attempt: Awaitable[object]) -> Unauthenticated:
    """How the caller is refused."""
    with pytest.raises(Unauthenticated) as caught:
        await attempt
    return caught.value


@pytest.mark.parametrize("build", ALL)
async def test_a_proven_caller_is_a_whole_principal(build: Build, tmp_path: Path) -> None:
    """Tenant, id, agent, scopes and roles come from the proof, and policy sees exactly these."""
    async with running(build, tmp_path) as case:
        principal = await case.authenticator.authenticate(case.good)
    seen = orjson.loads(principal.policy_json)
    assert (principal.tenant, principal.id, principal.agent) == ("acme", "run-7", "helper")
    assert principal.scopes == set(SCOPES)
    assert principal.roles == {"assistant"}
    assert seen["scopes"] == sorted(SCOPES)
    assert (seen["proof"], seen["claims"]) == (principal.proof, principal.claims)
    assert principal.proof in ("socket", "jwt", "mtls", "none")


@pytest.mark.parametrize("build", ALL)
async def test_the_same_proof_is_the_same_principal(build: Build, tmp_path: Path) -> None:
    """The very same object: nothing is worked out twice."""
    async with running(build, tmp_path) as case:
        first = await case.authenticator.authenticate(case.good)
        assert await case.authenticator.authenticate(case.good) is first


@pytest.mark.parametrize("build", ALL)
async def test_a_request_cannot_say_who_it_is(build: Build, tmp_path: Path) -> None:
    """Metadata that claims a tenant or an agent changes nothing."""
    async with running(build, tmp_path) as case:
        claimed = FakeProof((*case.good.metadata, *PROOFLESS.metadata), case.good.certificate)
        assert await case.authenticator.authenticate(claimed) == await case.authenticator.authenticate(case.good)


@pytest.mark.parametrize("build", PROVEN)
async def test_a_wrong_proof_is_nobody(build: Build, tmp_path: Path) -> None:
    """Whatever is wrong with it, before and after a good one was seen, and nothing else is raised."""
    async with running(build, tmp_path) as case:
        for _ in range(2):
            for proof in case.bad.values():
                await nobody(case.authenticator.authenticate(proof))
            await case.authenticator.authenticate(case.good)


@pytest.mark.parametrize("build", PROVEN)
async def test_nothing_of_a_proof_is_in_an_error(build: Build, tmp_path: Path) -> None:
    """Neither in its words nor in those of an error behind it: they go to a log."""
    async with running(build, tmp_path) as case:
        for proof in case.bad.values():
            error = await nobody(case.authenticator.authenticate(proof))
            words = " ".join(map(repr, (error, error.__cause__, error.__context__)))
            shown = [*(value for _, value in proof.metadata), proof.certificate]
            pieces = [piece for value in shown for piece in _pieces(value)]
            assert not [piece for piece in pieces if piece in words]


def _pieces(value: str | bytes) -> list[str]:
    """Every stretch of twelve characters."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    return [text[start : start + 12] for start in range(len(text) - 11)]


@pytest.mark.parametrize("build", ALL)
async def test_its_repr_holds_nothing_of_whom_it_let_in(build: Build, tmp_path: Path) -> None:
    """Nor does that of its status."""
    async with running(build, tmp_path) as case:
        await case.authenticator.authenticate(case.good)
        words = repr(case.authenticator) + repr(case.authenticator.status())
        assert not [piece for _, value in case.good.metadata for piece in _pieces(value) if piece in words]


@pytest.mark.parametrize("build", ALL)
async def test_it_says_that_it_is_ready(build: Build, tmp_path: Path) -> None:
    """Once it is started and what it needs is there."""
    async with running(build, tmp_path) as case:
        status = case.authenticator.status()
        assert (status.is_ready, status.problem) == (True, "")
        assert 0 <= status.age_seconds < 60


@pytest.mark.parametrize("build", ALL)
async def test_stopping_is_harmless(build: Build, tmp_path: Path) -> None:
    """Before it was started, and twice after."""
    async with build(tmp_path) as case:
        await case.authenticator.stop()
        await case.authenticator.start()
        await case.authenticator.authenticate(case.good)
        await case.authenticator.stop()
        await case.authenticator.stop()
