"""A gateway's life: started in order, drained, and everything let go of."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.served import served, settings_in, socket_listener

from gateway.app import build_gateway
from gateway.errors import StartError
from gateway.lifecycle import identity_words, policy_words
from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.settings.listeners import (
    JwtIdentity,
    Listener,
    MetricsSettings,
    MtlsIdentity,
    NoIdentity,
    Peer,
    TlsSettings,
)
from gateway.settings.load import Settings
from gateway.settings.parts import ServerSettings
from gateway.settings.policy import BundleSettings, OpaSettings, PolicySettings

KEY = Path("k.pem")


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """A gateway sets the collector as its process needs it; other tests want theirs."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


async def test_an_engine_is_started_and_stopped(tmp_path: Path) -> None:
    """With the gateway."""
    engine = FakeEngine()
    async with served(tmp_path, engine=engine):
        assert engine.is_started
    assert not engine.is_started


async def test_a_policy_that_cannot_be_used_starts_nothing(tmp_path: Path) -> None:
    """Its problems are told, the adapters are closed, and the state directory is free."""

    class Unusable(FakeEngine):
        async def start(self) -> None:
            raise PolicyUnusable(PolicyProblem(file="a.rego", rule="syntax", message="no"))

    adapter = FakeAdapter()
    with pytest.raises(StartError) as caught:
        async with served(tmp_path, adapter=adapter, engine=Unusable()):
            pass
    assert caught.value.problems == ("a.rego: syntax: no",)
    assert adapter.is_closed
    async with served(tmp_path) as one:
        assert (await one.call()).HasField("result")


async def test_draining_says_for_how_long_calls_are_taken(tmp_path: Path) -> None:
    """And they are taken, though health says otherwise."""
    async with served(tmp_path, server=ServerSettings(drain_delay_seconds=7)) as one:
        assert one.gateway.drain() == 7
        assert (await one.call()).HasField("result")


async def test_a_gateway_that_was_not_started_can_be_stopped_and_drained(tmp_path: Path) -> None:
    """Whoever starts it need not know how far it came."""
    gateway = build_gateway(settings_in(tmp_path), adapters={"fake": FakeAdapter()}, engine=FakeEngine())
    gateway.reload_soon()
    assert gateway.drain() == 0.0
    await gateway.stop()


async def test_metrics_have_a_socket_of_their_own(tmp_path: Path) -> None:
    """It is there while the gateway runs, and its address is told."""
    metrics = MetricsSettings(address=f"unix:{tmp_path / 'm.sock'}")
    async with served(tmp_path, metrics=metrics) as one:
        assert one.gateway.metrics_address == metrics.address
        assert metrics.socket_path.exists()
    assert not metrics.socket_path.exists()


async def test_metrics_that_cannot_be_served_start_nothing(tmp_path: Path) -> None:
    """A path that is taken by a file."""
    (tmp_path / "m.sock").write_text("in the way")
    with pytest.raises(StartError, match="is not a socket"):
        async with served(tmp_path, metrics=MetricsSettings(address=f"unix:{tmp_path / 'm.sock'}")):
            pass
    assert not (tmp_path / "g.sock").exists()


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
