"""What a person is told of a gateway."""

from pathlib import Path

import pytest
from fakes.served import identity, socket_listener

from gateway.description import Listening, identity_words, listening_of, policy_words, store_words
from gateway.settings.listeners import JwtIdentity, Listener, MtlsIdentity, NoIdentity, Peer, TlsSettings
from gateway.settings.load import Settings
from gateway.settings.policy import BundleSettings, OpaSettings, PolicySettings
from gateway.settings.store import StoreSettings

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
        (
            socket_listener(
                Path("/x"),
                services=("approval",),
                identity=identity(agent="", principal="ann", principal_kind="human"),
            ),
            "human ann of acme (whoever can open the socket)",
        ),
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


@pytest.mark.parametrize(
    ("services", "is_for_control"),
    [(("tool",), False), (("health",), False), (("approval",), True), (("health", "call"), True)],
)
def test_a_control_listener_is_told_apart(services: tuple[str, ...], *, is_for_control: bool) -> None:
    """It serves people and trusted runtimes, and no agent."""
    assert Listening(name="a", address="unix:/a", services=services, identity="x").is_for_control is is_for_control


def test_a_store_is_told_by_where_it_is(tmp_path: Path) -> None:
    """The file, or the server with the role; nothing of a password, which is in a file of its own."""
    password = tmp_path / "password"
    password.write_text("s3cret")
    server = StoreSettings(url="postgresql://db.corp.example/tollhouse", user="app", password_file=password)
    assert store_words(StoreSettings(url="sqlite:/state/store.db")) == "SQLite /state/store.db"
    assert store_words(server) == "PostgreSQL tollhouse at db.corp.example:5432 as app"
