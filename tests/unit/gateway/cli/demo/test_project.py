"""The demo's files are a deployment that the gateway accepts."""

import dataclasses
from pathlib import Path

import pytest

from gateway.app import install_adapters, load_rows
from gateway.cli.demo.backends import Backends
from gateway.cli.demo.checks import SEEN_TOOLS
from gateway.cli.demo.project import AGENT, PERSON, TENANT, Project, prepare_folders, write_project
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


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A written project, for servers on some ports."""
    made = Project(root=tmp_path / "demo", socket=tmp_path / "demo" / "s")
    prepare_folders(made)
    write_project(made, World(mail_port=4001, web_port=4002, trap_port=4003), BACKENDS)
    return made


def test_settings_and_registry_load_without_a_problem(project: Project) -> None:
    """And the agent sees exactly the tools that the checks expect."""
    settings = load_settings(project.settings)
    loaded = load_rows(settings, install_adapters(settings, SystemClock()))
    assert loaded.problems == ()
    assert loaded.catalogue is not None
    agent, _ = loaded.catalogue.agents[TENANT, AGENT]
    assert agent.tools == SEEN_TOOLS


def test_only_the_web_servers_port_may_be_reached(project: Project) -> None:
    """The port that a page leads to is not among the private targets."""
    assert load_settings(project.settings).network.private_targets == ("127.0.0.1:4002",)


def test_what_the_gateway_signs_in_with_is_in_its_own_files_alone(project: Project) -> None:
    """Mode 0600, in a folder that nobody else may enter; the root token is in none."""
    texts = {path: path.read_text() for path in project.root.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if "the-secret-id" in text] == [project.secret_id_file]
    assert not [path for path, text in texts.items() if "the-root-token" in text]
    assert project.secret_id_file.stat().st_mode & 0o777 == 0o600
    assert project.secrets.stat().st_mode & 0o777 == 0o700


def test_people_have_a_socket_of_their_own_where_no_tool_is(project: Project) -> None:
    """In a folder that no other user may enter; whoever opens it is a person with the role that approves."""
    agents, people = load_settings(project.settings).listeners
    assert people.socket_path == project.control
    assert project.control.parent.stat().st_mode & 0o777 == 0o700
    assert [service.value for service in (*agents.services, *people.services)] == [
        "tool",
        "approval",
        "registry",
    ]
    assert isinstance(people.identity, FixedIdentity)
    assert (people.identity.principal, people.identity.principal_kind) == (PERSON, "human")
    assert people.identity.roles == ("approver",)
    assert people.identity.agent == ""


def test_checkpoints_go_where_the_gateways_state_is_not(project: Project) -> None:
    """Whoever can change the audit should not reach them."""
    checkpoints = load_settings(project.settings).audit.checkpoints
    assert checkpoints is not None
    assert checkpoints.copy_to == project.checkpoints
    assert checkpoints.key_file == project.audit_key
    assert not project.checkpoints.is_relative_to(project.state)


def test_every_production_part_is_in_the_settings(project: Project) -> None:
    """OPA decides, OpenBao keeps the password, Valkey counts; without OPA the embedded engine decides."""
    settings = load_settings(project.settings)
    assert settings.policy.opa is not None
    assert settings.vault is not None
    assert settings.limits.redis is not None
    world = World(mail_port=4001, web_port=4002, trap_port=4003)
    write_project(project, world, dataclasses.replace(BACKENDS, opa_socket=None))
    assert load_settings(project.settings).policy.opa is None


def test_what_an_earlier_demo_left_is_gone_and_the_rest_stays(project: Project) -> None:
    """Only what a demo makes is removed."""
    (project.state / "old").touch()
    (project.root / "notes.txt").touch()
    prepare_folders(project)
    assert list(project.state.iterdir()) == []
    assert (project.root / "notes.txt").exists()
