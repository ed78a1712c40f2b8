"""The second scene's files are a deployment that the gateway accepts."""

from pathlib import Path

import pytest

from gateway.app import install_adapters, load_rows
from gateway.cli.demo.backends import Backends
from gateway.cli.demo.project import Project, prepare_folders
from gateway.cli.demo.refund.project import AGENT, PERSON, SECRETS, TENANT, reference_of, write_refund_project
from gateway.cli.demo.refund.shop import Keys, Shop
from gateway.cli.demo.refund.steps import TOOLS
from gateway.cli.demo.servers import World
from gateway.clock import SystemClock
from gateway.settings.listeners import FixedIdentity
from gateway.settings.load import load_settings

BACKENDS = Backends(
    vault_address="http://127.0.0.1:4004",
    role_id="the-role-id",
    secret_id="the-secret-id",
    valkey_socket=Path("/valkey.sock"),
    opa_socket=Path("/opa.sock"),
    root_token="the-root-token",
)
SHOP = Shop(
    stripe="http://127.0.0.1:4101",
    linear="http://127.0.0.1:4102",
    slack="http://127.0.0.1:4103/api",
    keys=Keys(stripe="sk_test_secret", linear="lin_api_secret", slack="xoxb-secret"),
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A written project, for servers on some ports."""
    made = Project(root=tmp_path / "demo", socket=tmp_path / "demo" / "s").below("refund")
    prepare_folders(made)
    write_refund_project(made, World(mail_port=4001), SHOP, BACKENDS)
    return made


def test_settings_and_registry_load_without_a_problem(project: Project) -> None:
    """And the agent sees exactly the tools that its steps take."""
    settings = load_settings(project.settings)
    loaded = load_rows(settings, install_adapters(settings, SystemClock()))
    assert loaded.problems == ()
    assert loaded.catalogue is not None
    agent, _ = loaded.catalogue.agents[TENANT, AGENT]
    assert agent.tools == set(TOOLS.values())


def test_each_key_goes_to_its_own_host_and_to_no_other(project: Project) -> None:
    """As the deployment's settings say, and no row of the registry."""
    allowed = {grant.references: grant.hosts for grant in load_settings(project.settings).credentials}
    assert allowed == {
        (reference_of("shop-stripe"),): ("127.0.0.1:4101",),
        (reference_of("shop-linear"),): ("127.0.0.1:4102",),
        (reference_of("shop-slack"),): ("127.0.0.1:4103",),
        (reference_of("shop-mail"),): ("localhost:4001",),
    }
    assert len(SECRETS) == len(allowed)


def test_only_the_vendors_ports_may_be_reached(project: Project) -> None:
    """On loopback, and nothing else there."""
    targets = load_settings(project.settings).network.private_targets
    assert targets == ("127.0.0.1:4101", "127.0.0.1:4102", "127.0.0.1:4103")


def test_no_key_is_in_any_file(project: Project) -> None:
    """The gateway is lent them."""
    texts = [path.read_text() for path in project.root.rglob("*") if path.is_file()]
    assert texts
    assert not [text for text in texts if "sk_test_secret" in text or "lin_api_secret" in text or "xoxb-secret" in text]


def test_the_person_decides_where_no_tool_is(project: Project) -> None:
    """At a socket in a folder that no other user may enter."""
    _, people = load_settings(project.settings).listeners
    assert people.socket_path == project.control
    assert isinstance(people.identity, FixedIdentity)
    assert (people.identity.principal, people.identity.roles) == (PERSON, ("approver",))
