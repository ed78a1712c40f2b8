"""The screen of `serve` tells on one page what a gateway is."""

import io
from pathlib import Path
from typing import Any

import pytest
from fakes import rows

from gateway.cli.screen import print_screen
from gateway.cli.terminal import terminal
from gateway.description import Description, Listening
from gateway.rows import Disposition


def _screen(monkeypatch: pytest.MonkeyPatch, config: Path | None = None, **changes: Any) -> str:
    monkeypatch.setenv("COLUMNS", "120")
    usual: dict[str, Any] = {
        "listeners": (Listening(name="agent", address="unix:/s", services=("tool",), identity="agent helper of acme"),),
        "http_addresses": {},
        "policy_engine": "embedded",
        "policy_revision": "sha256:" + "a" * 64,
        "policy_problem": "",
        "policy_from": ("/policies",),
        "tools": (rows.tool(),),
        "agents": (rows.agent(),),
        "connections": (),
        "state_dir": Path("/state"),
        "recovered_calls": 0,
        "store": "SQLite /state/store.db",
    }
    file = io.StringIO()
    print_screen(terminal(file), Description(**{**usual, **changes}), config)
    return file.getvalue()


def test_everything_is_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listeners and who they are for, policy and revision, tools, agents, audit."""
    shown = _screen(monkeypatch, Path("/t.yaml"))
    for words in (
        "Tollhouse is ready.",
        "/t.yaml",
        "unix:/s (tool) for agent helper of acme",
        "embedded, revision sha256:aaaaaaaaaaaa…",
        "/policies",
        "1: echo",
        "1: acme/helper sees 1",
        "SQLite /state/store.db",
        "/state/audit",
    ):
        assert words in shown
    assert "Nobody can call" not in shown
    assert len(shown.splitlines()) < 24


def test_what_is_served_over_http_is_told_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor's console and a service's configuration want the whole."""
    addresses = {"metrics": "unix:/m", "events": "127.0.0.1:8443", "keys": "127.0.0.1:8444"}
    shown = _screen(monkeypatch, http_addresses=addresses)
    for words in (
        "unix:/m (/metrics)",
        "127.0.0.1:8443 (/v1/events/TENANT/CONNECTION)",
        "8444 (/.well-known/jwks.json)",
    ):
        assert words in shown


def test_where_people_decide_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control listener is not one of agents."""
    listeners = (
        Listening(name="agent", address="unix:/a", services=("tool",), identity="agent helper of acme"),
        Listening(name="people", address="unix:/p", services=("approval", "registry"), identity="human ann of acme"),
    )
    shown = [" ".join(line.split()) for line in _screen(monkeypatch, listeners=listeners).splitlines()]
    assert "listens on unix:/a (tool) for agent helper of acme" in shown
    assert "control on unix:/p (approval, registry) for human ann of acme" in shown


def test_without_agents_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can call anything, and `init` is named."""
    shown = _screen(monkeypatch, agents=())
    assert "the built-in default" in shown
    assert "Nobody can call anything yet" in shown
    assert "tollhouse init" in shown


def test_an_agent_sees_what_it_names_and_what_its_groups_always_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same count as the registry's."""
    tools = (
        rows.tool(),
        rows.tool(name="b", groups=frozenset({"g"}), disposition=Disposition.ALWAYS),
        rows.tool(name="c", groups=frozenset({"g"}), disposition=Disposition.OPTIONAL),
    )
    agents = (rows.agent(), rows.agent(name="other", tools=frozenset(), groups=frozenset({"g"})))
    shown = _screen(monkeypatch, tools=tools, agents=agents)
    assert "acme/helper sees 1, acme/other sees 1" in shown


def test_it_stays_one_screen_with_many_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many the number is told."""
    tools = tuple(rows.tool(name=f"tool_{number}") for number in range(500))
    agents = tuple(rows.agent(name=f"agent-{number}") for number in range(500))
    shown = _screen(monkeypatch, tools=tools, agents=agents)
    assert "500: tool_0" in shown
    assert "and 488 more" in shown
    assert len(shown.splitlines()) < 24


def test_recovered_calls_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody should look at what a crash cut off."""
    assert "3 calls that a crash had cut off" in _screen(monkeypatch, recovered_calls=3)


def test_names_from_manifests_are_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a row is called."""
    shown = _screen(monkeypatch, tools=(rows.tool(name="\x1b[2J[bold]x[/]"),))
    assert "\\x1b[2J[bold]x[/]" in shown


def test_a_policy_that_is_not_there_yet_is_not_called_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that nothing is allowed, and why."""
    shown = _screen(
        monkeypatch,
        policy_engine="opa",
        policy_revision="",
        policy_problem="OPA does not answer",
        policy_from=("bundle authz of OPA at unix:/opa.sock",),
    )
    assert "Tollhouse is up." in shown
    assert "opa, NOT READY: nothing is allowed yet (OPA does not answer)" in shown
    assert "bundle authz of OPA at unix:/opa.sock" in shown


def test_the_revision_of_a_bundle_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells its time."""
    assert "revision 20261130T141436Z-0123456789ab" in _screen(
        monkeypatch, policy_revision="20261130T141436Z-0123456789ab"
    )
