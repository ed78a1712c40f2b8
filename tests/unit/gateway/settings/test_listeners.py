"""Which listeners are safe. Each way to be wrong that a file can hold is a case of `test_load.py`."""

from typing import Any

import pydantic
import pytest

from gateway.settings.listeners import Listener, MetricsSettings, mistaken_agents

NOBODY = {"kind": "none", "tenant": "acme", "agent": "helper"}
TLS = {"cert_file": "c.pem", "key_file": "k.pem"}
MUTUAL = {**TLS, "client_ca_file": "ca.pem"}
PEERS = {"kind": "mtls", "peers": [{"san": "spiffe://corp/agent", "tenant": "acme", "agent": "helper"}]}


def _listener(**fields: Any) -> Listener:
    return Listener.model_validate({"name": "a", **fields})


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:1", "[::1]:65535", "127.8.8.8:1"])
def test_no_identity_is_for_loopback(address: str) -> None:
    """In every spelling of it."""
    assert not _listener(address=address, identity=NOBODY).is_unix


@pytest.mark.parametrize("address", ["0.0.0.0:8086", "unix:probe.sock"])
def test_probes_need_no_identity_anywhere(address: str) -> None:
    """A listener for health alone serves whoever asks, and nothing else."""
    assert _listener(address=address, services=["health"]).is_for_probes


def test_health_beside_tools_does_not_let_nobody_in() -> None:
    """An identity is owed as soon as anything else is served."""
    with pytest.raises(pydantic.ValidationError, match="name an identity"):
        _listener(address="127.0.0.1:1", services=["health", "tool"])


def test_mtls_beyond_loopback() -> None:
    """With who may vouch for clients."""
    assert _listener(address="0.0.0.0:8443", identity=PEERS, tls=MUTUAL).tls is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"address": "unix:m.sock"},
        {"address": "127.0.0.1:9090", "token_file": "t"},
        {"address": "0.0.0.0:9090", "tls": MUTUAL},
        {"address": "0.0.0.0:9090", "tls": TLS, "token_file": "t"},
    ],
)
def test_metrics_with_a_proof_of_identity(fields: dict[str, Any]) -> None:
    """A socket's mode, a token, or a client certificate."""
    assert MetricsSettings.model_validate(fields).address == fields["address"]


def test_metrics_behind_tls_alone_are_open_to_everybody() -> None:
    """A server certificate proves nothing of who reads."""
    with pytest.raises(pydantic.ValidationError, match="token_file"):
        MetricsSettings.model_validate({"address": "0.0.0.0:9090", "tls": TLS})


JWT = {"kind": "jwt", "issuer": "i", "audience": "a", "jwks_file": "keys.json"}
PEOPLE = {**JWT, "needs_agent": False, "principal_kind": "human"}
APPROVER = {"san": "spiffe://corp/ann", "tenant": "acme", "principal": "ann", "principal_kind": "human"}


@pytest.mark.parametrize(
    "identity",
    [
        PEOPLE,
        {**JWT, "kind_claim": "kind", "principal_kind": "human"},
        {"kind": "fixed", "tenant": "acme", "principal": "ann", "principal_kind": "human", "roles": ["approver"]},
    ],
)
def test_people_approve_on_listeners_of_their_own(identity: dict[str, Any]) -> None:
    """They need no agent there."""
    assert _listener(address="unix:control.sock", services=["approval"], identity=identity).services == ("approval",)


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        ({**JWT, "needs_agent": False}, "needs_agent"),
        ({"kind": "fixed", "tenant": "acme", "principal": "ann"}, "name the agent"),
    ],
)
def test_where_tools_are_served_everybody_speaks_for_an_agent(identity: dict[str, Any], why: str) -> None:
    """Whose row says what they may see."""
    with pytest.raises(pydantic.ValidationError, match=why):
        _listener(address="unix:g.sock", identity=identity)


def test_where_tools_are_served_every_peer_speaks_for_an_agent() -> None:
    """One that does not is enough to be refused."""
    identity = {**PEERS, "peers": [*PEERS["peers"], APPROVER]}
    with pytest.raises(pydantic.ValidationError, match="name the agent"):
        _listener(address="0.0.0.0:8443", identity=identity, tls=MUTUAL)
    assert _listener(address="0.0.0.0:8443", identity=identity, tls=MUTUAL, services=["approval"]).tls


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"services": ["approval"], "identity": {**JWT, "principal_kind": "human"}}, "pass for people"),
        ({"services": ["approval"], "identity": {**PEOPLE, "agent_claim": ""}}, "agent_claim"),
        ({"services": ["approval"], "identity": {"kind": "fixed", "tenant": "acme"}}, "name the principal"),
        ({"services": ["approval", "tool"], "identity": JWT}, "never where agents are"),
    ],
)
def test_agents_cannot_pass_for_people(fields: dict[str, Any], why: str) -> None:
    """Nor be where people decide."""
    with pytest.raises(pydantic.ValidationError, match=why):
        _listener(address="unix:control.sock", **fields)


def test_nobody_is_let_in_to_control_services_without_proof() -> None:
    """On loopback too: the containers of a pod share it."""
    with pytest.raises(pydantic.ValidationError, match="without proof"):
        _listener(address="127.0.0.1:1", services=["approval"], identity=NOBODY)


AGENTS = {"kind": "jwt", "issuer": "https://i.example", "audience": "tools", "jwks_url": "https://i.example/keys"}


@pytest.mark.parametrize(
    ("agents", "control", "is_mistaken"),
    [
        ({}, {"principal_kind": "human", "needs_agent": False}, False),
        ({}, {"principal_kind": "human", "needs_agent": False, "agent_claim": "azp"}, True),
        ({"agent_claim": "azp"}, {"principal_kind": "human", "needs_agent": False}, True),
        ({"agent_claim": "azp"}, {"principal_kind": "human", "needs_agent": False, "audience": "people"}, False),
        ({"agent_claim": "azp"}, {"principal_kind": "human", "needs_agent": False, "issuer": "https://o"}, False),
        ({"agent_claim": "azp"}, {"kind_claim": "kind", "needs_agent": False}, False),
        ({}, {"principal_kind": "workflow"}, True),
        ({}, {"principal_kind": "workflow", "needs_agent": False}, True),
        ({}, {"principal_kind": "workflow", "audience": "runtimes"}, False),
        ({}, {"principal_kind": "workflow", "kind_claim": "kind"}, False),
        ({}, {}, False),
    ],
)
def test_tokens_of_agents_are_known_at_every_listener(
    agents: dict[str, Any], control: dict[str, Any], *, is_mistaken: bool
) -> None:
    """Where one listener would take for a person or a workflow what another takes for an agent, it is told."""
    listeners = [
        _listener(name="agents", address="127.0.0.1:1", identity={**AGENTS, **agents}),
        _listener(name="c", address="127.0.0.1:2", services=["run"], identity={**AGENTS, **control}),
    ]
    assert [index for index, _ in mistaken_agents(listeners)] == [1] * is_mistaken
