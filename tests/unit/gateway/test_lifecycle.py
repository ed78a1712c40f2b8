"""A gateway's life: started in order, drained, and everything let go of."""

import asyncio
import contextlib
import gc
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest
from fakes.adapter import FakeAdapter
from fakes.certificates import TlsAuthority
from fakes.engine import FakeEngine
from fakes.served import Served, asked, channel_to, lines_in, served, settings_in, socket_listener

from gateway.app import build_gateway
from gateway.errors import StartError
from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.settings.limits import LimitSettings
from gateway.settings.listeners import Listener, MetricsSettings, NoIdentity
from gateway.settings.parts import ServerSettings
from gateway.v1 import tool_service_pb2_grpc as rpc


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
        assert one.gateway.describe().http_addresses["metrics"] == metrics.address
        assert metrics.socket_path.exists()
    assert not metrics.socket_path.exists()


async def test_metrics_that_cannot_be_served_start_nothing(tmp_path: Path) -> None:
    """A path that is taken by a file."""
    (tmp_path / "m.sock").write_text("in the way")
    with pytest.raises(StartError, match="is not a socket"):
        async with served(tmp_path, metrics=MetricsSettings(address=f"unix:{tmp_path / 'm.sock'}")):
            pass
    assert not (tmp_path / "g.sock").exists()


async def test_a_drain_takes_as_long_as_the_settings_say_by_then(tmp_path: Path) -> None:
    """Not as they said at the start: what is taken over holds everywhere."""
    adapter = FakeAdapter()
    adapter.gate = asyncio.Event()
    changed = settings_in(tmp_path, server=ServerSettings(drain_seconds=0.1))
    first = changed.model_copy(update={"server": ServerSettings(drain_seconds=60)})
    gateway = build_gateway(first, adapters={"fake": adapter}, engine=FakeEngine(), reread=lambda: changed)
    await gateway.start()
    assert await gateway.reload() == ()
    async with channel_to(gateway.describe().listeners[0].address) as channel:
        call = asyncio.ensure_future(rpc.ToolServiceStub(channel).CallTool(asked(), timeout=30))
        await adapter.started.wait()
        await asyncio.wait_for(gateway.stop(), 5)
        with pytest.raises(grpc.aio.AioRpcError):
            await call


async def test_the_transport_takes_as_many_requests_as_the_settings_allow(tmp_path: Path) -> None:
    """More than it takes when nobody says anything."""
    async with served(tmp_path, limits=LimitSettings(max_in_flight=5000)) as one:
        assert one.gateway._server is not None
        assert one.gateway._server._max_in_flight == 5000


async def test_certificates_that_change_are_told_of_and_counted(tmp_path: Path) -> None:
    """Those of a listener and of the metrics, the good and the broken."""
    authority = TlsAuthority()
    tls, token = authority.files(tmp_path), tmp_path / "token"
    token.write_text("t")
    listener = Listener(
        name="tls", address="127.0.0.1:0", tls=tls, identity=NoIdentity(kind="none", tenant="acme", agent="helper")
    )
    metrics = MetricsSettings(address="127.0.0.1:0", token_file=token, tls=tls)
    async with served(tmp_path, listeners=(listener, socket_listener(tmp_path)), metrics=metrics) as one:
        tls.cert_file.write_bytes(b"broken")
        await asyncio.wait_for(_noticed(one, "failed"), 10)
        authority.files(tmp_path)
        await asyncio.wait_for(_noticed(one, "ok"), 10)


async def _noticed(one: Served, result: str) -> None:
    """Both listeners have: they look at their files when somebody connects, and once a second at most."""
    while one.gateway._machinery.metrics._reloads["certificates", result] < 2:
        for address in (one.address(), one.gateway.describe().http_addresses["metrics"]):
            await asyncio.to_thread(_shake_hands, address)


def _shake_hands(address: str) -> None:
    """A connection that greets and leaves."""
    host, _, port = address.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=10) as plain:
        context.wrap_socket(plain, server_hostname=host).close()


async def test_a_stop_that_fails_skips_nothing(tmp_path: Path) -> None:
    """One part cannot let go: the others do, and the audit is closed last, when every line is written."""

    class Stubborn(FakeEngine):
        async def stop(self) -> None:
            await super().stop()
            raise OSError("stuck")

    adapter = FakeAdapter()
    gateway = build_gateway(settings_in(tmp_path), adapters={"fake": adapter}, engine=Stubborn())
    await gateway.start()
    async with channel_to(gateway.describe().listeners[0].address) as channel:
        await rpc.ToolServiceStub(channel).CallTool(asked(), timeout=30)
    with pytest.raises(OSError, match="stuck"):
        await gateway.stop()
    assert adapter.is_closed
    assert not (tmp_path / "g.sock").exists()
    assert len(lines_in(tmp_path)) == 1
    async with served(tmp_path) as one:
        assert (await one.call()).HasField("result")
