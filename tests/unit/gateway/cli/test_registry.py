"""`registry check` says everything that is wrong with manifests, each with file, line and rule."""

import json
from pathlib import Path

import pytest

from gateway.cli.root import run
from gateway.cli.starting import write_starter

Told = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A starter project."""
    write_starter(tmp_path)
    return tmp_path


def test_a_good_registry_is_zero(project: Path, capsys: Told) -> None:
    """With and without settings, as text and as JSON."""
    assert run(["registry", "check", str(project / "registry")]) == 0
    assert "every row can be used" in capsys.readouterr().out
    settings = str(project / "tollhouse.yaml")
    assert run(["registry", "check", str(project / "registry"), "--config", settings, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "problems": []}


def test_every_problem_is_listed_with_its_place(project: Path, capsys: Told) -> None:
    """Exit code 1; two files, two problems."""
    tools, agents = project / "registry" / "tools.yaml", project / "registry" / "agents.yaml"
    tools.write_text(tools.read_text().replace("adapter: clock", "adapter: sundial"))
    agents.write_text(agents.read_text().replace("scopes:", "scoops:"))
    assert run(["registry", "check", str(project / "registry")]) == 1
    told = capsys.readouterr().err
    assert "tools.yaml:" in told
    assert "sundial" in told
    assert "agents.yaml:" in told
    assert "scoops" in told
    assert run(["registry", "check", str(project / "registry"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert all(problem["line"] > 0 for problem in found["problems"])


def test_several_paths_are_one_registry(project: Path, capsys: Told) -> None:
    """Files and folders; what is missing is a problem."""
    files = [str(path) for path in sorted((project / "registry").iterdir())]
    assert run(["registry", "check", *files]) == 0
    assert run(["registry", "check", *files, str(project / "nothing")]) == 1
    assert "nothing" in capsys.readouterr().err


def test_settings_that_cannot_be_used_are_two(project: Path, capsys: Told) -> None:
    """It was not the registry that was found wrong."""
    (project / "tollhouse.yaml").write_text("nonsense: 1\n")
    arguments = ["registry", "check", str(project / "registry"), "--config", str(project / "tollhouse.yaml")]
    assert run(arguments) == 2
    assert "settings" in capsys.readouterr().err
