"""What a person is told of a gateway."""

from pathlib import Path

import pytest
from fakes.served import socket_listener

from gateway.description import identity_words, listening_of, policy_words
from gateway.settings.listeners import JwtIdentity, Listener, MtlsIdentity, NoIdentity, Peer, TlsSettings
from gateway.settings.load import Settings
from gateway.settings.policy import BundleSettings, OpaSettings, PolicySettings

KEY = Path("k.pem")
PEER = Peer(san="spiffe://corp/a", tenant="acme", agent="helper")
TLS = TlsSettings(cert_file=KEY, key_file=KEY, client_ca_file=KEY)


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        (Listener(name="a", address="0.0.0.0:1", services=("health",)), "probes"),
        (
            Listener(
                name="a",
                address="127.0.0.1:1",
                identity=JwtIdentity(kind="jwt", issuer="https://i", audience="t", jwks_file=KEY),
            ),
            "tokens of https://i",
        ),
        (
            Listener(name="a", address="0.0.0.0:1", tls=TLS, identity=MtlsIdentity(kind="mtls", peers=(PEER,))),
            "certificates of 1 peers",
        ),
        (
            Listener(name="a", address="127.0.0.1:1", identity=NoIdentity(kind="none", tenant="t", agent="a")),
            "agent a of t (anybody on this machine)",
        ),
        (socket_listener(Path("/x")), "agent helper of acme (whoever can open the socket)"),
    ],
)
def test_a_listener_is_told_by_who_calls_there(listener: Listener, words: str) -> None:
    """In words for the screen."""
    assert identity_words(listener) == words


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (PolicySettings(), "the built-in pack"),
        (PolicySettings(paths=(Path("/p"),)), "/p"),
        (PolicySettings(bundle=BundleSettings(file=Path("/b"), key_file=KEY)), "signed bundle /b"),
        (PolicySettings(bundle=BundleSettings(url="https://b", key_file=KEY)), "signed bundle https://b"),
        (PolicySettings(opa=OpaSettings(url="unix:/o", bundle="authz")), "bundle authz of OPA at unix:/o"),
    ],
)
def test_a_policy_is_told_by_where_it_comes_from(policy: PolicySettings, words: str) -> None:
    """In words for the screen."""
    assert policy_words(Settings(policy=policy)) == (words,)


def test_a_listener_is_told_at_the_address_that_it_has() -> None:
    """A port that was left to the system is a real one by then."""
    listener = Listener(name="probes", address="127.0.0.1:0", services=("health",))
    told = listening_of(listener, "127.0.0.1:7")
    assert (told.name, told.address, told.services, told.identity) == ("probes", "127.0.0.1:7", ("health",), "probes")
