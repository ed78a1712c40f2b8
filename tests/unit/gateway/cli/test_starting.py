"""`init` writes a project that works, and never over anything."""

import json
from pathlib import Path

import pytest

from gateway.cli.root import run
from gateway.cli.starting import next_commands, write_starter
from gateway.errors import StartError
from gateway.settings.load import load_settings

Told = pytest.CaptureFixture[str]

FILES = {
    "tollhouse.yaml",
    "registry/tools.yaml",
    "registry/connections.yaml",
    "registry/agents.yaml",
    "policies/gateway.rego",
    "policies/gateway_test.rego",
}


def test_the_project_has_settings_a_tool_an_agent_and_a_policy_with_its_test(tmp_path: Path, capsys: Told) -> None:
    """And the next three commands are told."""
    assert run(["init", str(tmp_path / "new" / "project")]) == 0
    written = {str(path.relative_to(tmp_path / "new" / "project")) for path in (tmp_path / "new").rglob("*.*")}
    assert written >= FILES
    shown = capsys.readouterr().out
    for command in next_commands(tmp_path / "new" / "project"):
        assert command in shown


def test_json_lists_the_files(tmp_path: Path, capsys: Told) -> None:
    """For a script."""
    assert run(["init", str(tmp_path), "--json"]) == 0
    assert {str(Path(name).relative_to(tmp_path)) for name in json.loads(capsys.readouterr().out)["files"]} == FILES


def test_registry_and_policy_of_the_project_are_good(tmp_path: Path) -> None:
    """By the project's own commands."""
    write_starter(tmp_path)
    assert run(["registry", "check", str(tmp_path / "registry"), "--config", str(tmp_path / "tollhouse.yaml")]) == 0
    assert run(["policy", "check", str(tmp_path / "policies")]) == 0
    assert run(["policy", "test", str(tmp_path / "policies")]) == 0


def test_what_is_commented_out_in_the_settings_can_be_used(tmp_path: Path) -> None:
    """The listener for people: without its comment signs it loads, and serves approvals to a person."""
    write_starter(tmp_path)
    file = tmp_path / "tollhouse.yaml"
    lines = file.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if "- name: people" in line)
    last = next(number for number, line in enumerate(lines) if "roles: [approver]" in line)
    lines[first : last + 1] = [line.replace("  # ", "  ", 1) for line in lines[first : last + 1]]
    file.write_text("\n".join(lines))
    agent, people = load_settings(file).listeners
    assert (agent.name, [service.value for service in people.services]) == ("agent", ["approval"])
    assert people.socket_path == tmp_path / "state" / "control.sock"


def test_every_rule_of_the_policy_is_tested(tmp_path: Path, capsys: Told) -> None:
    """No line of it is left unreached."""
    write_starter(tmp_path)
    run(["policy", "test", str(tmp_path / "policies"), "--json"])
    assert json.loads(capsys.readouterr().out)["not_reached"] == []


def test_what_is_there_is_never_overwritten(tmp_path: Path, capsys: Told) -> None:
    """One file in the way and nothing is written; it is named."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "gateway.rego").write_text("mine")
    assert run(["init", str(tmp_path)]) == 2
    assert "policies/gateway.rego" in capsys.readouterr().err
    assert (tmp_path / "policies" / "gateway.rego").read_text() == "mine"
    assert not (tmp_path / "tollhouse.yaml").exists()


def test_a_link_is_in_the_way_too(tmp_path: Path) -> None:
    """Also one that leads nowhere: writing through it would write elsewhere."""
    (tmp_path / "tollhouse.yaml").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartError, match="already holds"):
        write_starter(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_with_other_files_is_no_hindrance(tmp_path: Path) -> None:
    """A README or a repository may be there already."""
    (tmp_path / "README.md").write_text("mine")
    assert len(write_starter(tmp_path)) == len(FILES)


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "file").touch()
    with pytest.raises(StartError, match="choose another folder"):
        write_starter(tmp_path / "file")


def test_commands_are_quoted_for_a_shell() -> None:
    """A folder's name may hold anything."""
    assert next_commands(Path("my project; rm -rf x"))[0] == (
        "tollhouse serve --config 'my project; rm -rf x'/tollhouse.yaml"
    )
