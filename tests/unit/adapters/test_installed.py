"""The list of adapters."""

import ssl

import pytest
import trustme
from fakes.clock import FakeClock
from fakes.web import open_inner

from adapters import installed
from adapters.base import AdapterError, ErrorKind, Invocation, Target
from adapters.installed import build_adapters


async def test_every_adapter_stands_under_its_own_name() -> None:
    """The names are those that bindings use."""
    adapters = build_adapters(FakeClock())
    assert set(adapters) == {
        "calendar",
        "clock",
        "email",
        "github",
        "grpc_upstream",
        "http_api",
        "linear",
        "mcp_upstream",
        "posthog",
        "sentry",
        "slack",
        "stripe",
        "web",
    }
    assert all(adapter.name == name for name, adapter in adapters.items())
    for adapter in adapters.values():
        await adapter.close()


async def test_without_private_targets_loopback_is_closed() -> None:
    """Nothing has to be configured to be safe."""
    async with open_inner() as inner:
        web = build_adapters(FakeClock())["web"]
        fetch = web.operations["fetch"]
        invocation = Invocation(
            arguments=fetch.prepare({"url": f"http://127.0.0.1:{inner.port}/"}),
            target=Target(name="web"),
            credential=None,
            deadline=1005.0,
            effect_id="e",
        )
        with pytest.raises(AdapterError) as caught:
            await fetch.invoke(invocation)
        await web.close()
    assert caught.value.kind is ErrorKind.ADDRESS_REFUSED
    assert inner.connections == 0


def test_a_private_target_in_another_form_is_an_error() -> None:
    """At start, not at the first call."""
    with pytest.raises(ValueError, match="localhost"):
        build_adapters(FakeClock(), private_targets=["localhost:80"])


async def test_authorities_vouch_besides_the_machines_own() -> None:
    """Of an internal service's certificate, say; what is no certificate is refused."""
    authority = trustme.CA()
    context = installed._trusting(authority.cert_pem.bytes())
    own = len(ssl.create_default_context().get_ca_certs())
    assert context is not None
    assert len(context.get_ca_certs()) == own + 1
    assert installed._trusting(b"") is None
    with pytest.raises(ValueError, match="no certificates"):
        build_adapters(FakeClock(), authorities=b"nonsense")
