"""Callers by client certificate: which peer holds, until when, and what is remembered."""

import datetime as dt

import pytest
from fakes.authorities import Authority
from fakes.clock import START, FakeClock
from fakes.principals import FakeProof

from gateway.errors import StartError, Unauthenticated
from gateway.identity.certificates import MAX_BYTES, read_certificate
from gateway.identity.mtls import MtlsAuthenticator
from gateway.settings.listeners import MtlsIdentity, Peer

AUTHORITY = Authority()
NOW = dt.datetime.fromtimestamp(START, dt.UTC)
HELPER = Peer(san="spiffe://corp.example/helper", tenant="acme", agent="helper")
ANYONE = Peer(san="spiffe://corp.example/{agent}", tenant="acme", agent="{agent}", scopes=("web:read",))
BY_DNS = Peer(san="dns:agent.example", tenant="other", agent="dns")


@pytest.fixture
def clock():
    return FakeClock()


def authenticator(clock, *peers):
    return MtlsAuthenticator(MtlsIdentity(kind="mtls", peers=peers or (HELPER, ANYONE, BY_DNS)), clock)


def shown(*names, **more):
    return FakeProof(certificate=AUTHORITY.issue(*names, not_before=NOW, **more))


async def test_the_first_peer_that_fits_holds(clock):
    """In the order of the settings; a certificate with two kinds of names too."""
    auth = authenticator(clock)
    assert (await auth.authenticate(shown(HELPER.san))).scopes == frozenset()
    assert (await auth.authenticate(shown("spiffe://corp.example/mailer"))).agent == "mailer"
    assert (await auth.authenticate(shown("agent.example", HELPER.san))).agent == "helper"
    assert (await authenticator(clock, BY_DNS, HELPER).authenticate(shown("agent.example", HELPER.san))).agent == "dns"


@pytest.mark.parametrize(
    "names",
    [(), ("spiffe://corp.example/a/b",), ("*.example",), ("spiffe://corp.example/a", "urn:x", "agent.example")],
    ids=str,
)
async def test_a_certificate_that_fits_no_peer_is_nobody(names, clock):
    """Its common name is never looked at; a SPIFFE id among other URIs spoils all names."""
    proof = shown(*names, common_name=HELPER.san)
    auth = authenticator(clock)
    for _ in range(2):
        with pytest.raises(Unauthenticated) as caught:
            await auth.authenticate(proof)
        assert "corp.example" not in repr(caught.value)


@pytest.mark.parametrize("certificate", [b"", b"garbage", b"x" * (MAX_BYTES + 1)], ids=["none", "garbage", "large"])
async def test_no_certificate_or_garbage_is_nobody(certificate, clock):
    """And what is too large is not kept."""
    auth = authenticator(clock)
    with pytest.raises(Unauthenticated):
        await auth.authenticate(FakeProof(certificate=certificate))
    assert sum(map(len, auth._known)) < 10


async def test_expiry_is_looked_at_for_every_call(clock):
    """A connection outlives the certificate that it was opened with; its calls do not."""
    auth = authenticator(clock)
    proof = shown(HELPER.san, valid=dt.timedelta(minutes=5))
    clock.advance(299)
    await auth.authenticate(proof)
    clock.advance(1)
    with pytest.raises(Unauthenticated, match="not valid now"):
        await auth.authenticate(proof)


async def test_a_certificate_of_tomorrow_is_nobody_today(clock):
    """And holds from its first moment on."""
    auth = authenticator(clock)
    proof = FakeProof(certificate=AUTHORITY.issue(HELPER.san, not_before=NOW + dt.timedelta(days=1)))
    with pytest.raises(Unauthenticated, match="not valid now"):
        await auth.authenticate(proof)
    clock.advance(24 * 3600)
    assert (await auth.authenticate(proof)).agent == "helper"


async def test_a_certificate_is_read_once(clock, monkeypatch):
    """The same principal comes back, whether it fits or not, without reading it again."""
    reads = []

    def read(pem):
        reads.append(pem)
        return read_certificate(pem)

    monkeypatch.setattr("gateway.identity.mtls.read_certificate", read)
    auth = authenticator(clock)
    good, bad = shown(HELPER.san), shown("nobody.example")
    assert await auth.authenticate(good) is await auth.authenticate(good)
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await auth.authenticate(bad)
    assert len(reads) == 2


async def test_what_is_remembered_is_bounded(clock, monkeypatch):
    """What was not used for longest goes first."""
    monkeypatch.setattr("gateway.identity.mtls.CACHED_CERTIFICATES", 2)
    auth = authenticator(clock)
    one, two, three = (shown(f"spiffe://corp.example/{name}") for name in ("one", "two", "three"))
    for proof in (one, two, one, three):
        await auth.authenticate(proof)
    assert list(auth._known) == [one.certificate, three.certificate]


async def test_a_token_beside_a_certificate_changes_nothing(clock):
    """The listener asks for a certificate."""
    proof = shown(HELPER.san)
    with_token = FakeProof(metadata=(("authorization", "Bearer x"),), certificate=proof.certificate)
    assert (await authenticator(clock).authenticate(with_token)).agent == "helper"


def test_a_peer_that_contradicts_itself_does_not_start(clock):
    """The constructor says which."""
    with pytest.raises(StartError, match=r"corp\.example"):
        authenticator(clock, Peer(san="spiffe://corp.example/x", tenant="{tenant}", agent="a"))
