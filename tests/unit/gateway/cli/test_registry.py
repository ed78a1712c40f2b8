"""`registry check` says everything that is wrong with manifests; the other commands change what a gateway has."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.administration import AGENT, CONNECTION, TOOL, Replica, replica, served
from fakes.clock import FakeClock
from real.stores import opened, sqlite_settings

from gateway.cli.manifests import written
from gateway.cli.root import run
from gateway.cli.starting import write_starter

Told = pytest.CaptureFixture[str]
Ask = Callable[..., Awaitable[int]]


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


SOCKET = "s"


def text_of(path: Path) -> str:
    """What it holds."""
    return path.read_text()


def write(path: Path, *rows: tuple[str, dict[str, Any]]) -> None:
    """A manifest of these rows."""
    path.write_text(written(rows))


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway that serves its registry on a socket."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        made = replica(database, clock)
        async with served(made, f"unix:{tmp_path / SOCKET}"):
            yield made


@pytest.fixture
def ask(gateway: Replica, tmp_path: Path) -> Ask:
    """Runs a command beside it; the exit code."""

    async def run_beside(*words: str) -> int:
        return await asyncio.to_thread(run, ["registry", *words, "--socket", str(tmp_path / SOCKET)])

    return run_beside


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A registry that is sound."""
    path = tmp_path / "registry.yaml"
    write(path, ("connection", CONNECTION), ("tool", TOOL), ("agent", AGENT))
    return path


async def test_a_registry_is_applied_and_then_is_as_the_manifests_have_it(
    ask: Ask, manifest: Path, capsys: Told
) -> None:
    """The second time there is nothing to do."""
    assert await ask("apply", str(manifest)) == 0
    told = capsys.readouterr().out
    assert "create" in told
    assert "tool/echo" in told
    assert await ask("apply", str(manifest)) == 0
    assert "as the manifests have it" in capsys.readouterr().out
    assert await ask("diff", str(manifest)) == 0
    assert await ask("list") == 0
    assert "connection/fake" in capsys.readouterr().out


async def test_what_is_exported_changes_nothing_when_it_is_applied(
    ask: Ask, manifest: Path, tmp_path: Path, capsys: Told
) -> None:
    """To a file or to standard output."""
    await ask("apply", str(manifest))
    out = tmp_path / "out.yaml"
    assert await ask("export", "--out", str(out)) == 0
    assert text_of(out) == text_of(manifest)
    assert await ask("diff", str(out), "--prune") == 0
    capsys.readouterr()
    assert await ask("export") == 0
    assert capsys.readouterr().out == text_of(out)
    assert await ask("export", "--out", str(tmp_path / "no" / "where")) == 2


async def test_a_difference_is_shown_and_is_one(ask: Ask, manifest: Path, capsys: Told) -> None:
    """As a table and line by line, or as JSON; only what is to be pruned goes."""
    await ask("apply", str(manifest))
    write(manifest, ("connection", CONNECTION), ("tool", TOOL | {"title": "New"}))
    capsys.readouterr()
    assert await ask("diff", str(manifest)) == 1
    told = capsys.readouterr().out
    assert "update" in told
    assert "+  title: New" in told
    assert "delete" not in told
    assert await ask("diff", str(manifest), "--prune", "--json") == 1
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert [(one["action"], one["kind"], one["version"]) for one in changes] == [
        ("delete", "agent", 1),
        ("update", "tool", 1),
    ]
    assert await ask("apply", str(manifest), "--prune", "--json") == 0
    assert json.loads(capsys.readouterr().out)["applied"] is True
    assert await ask("list", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["kind"], row["name"], row["version"]) for row in rows] == [
        ("connection", "fake", 1),
        ("tool", "echo", 2),
    ]
    assert rows[0]["health"]["needs_authorisation"] is False


async def test_a_dry_run_changes_nothing(ask: Ask, manifest: Path, capsys: Told) -> None:
    """It says what would be done, or what is wrong."""
    assert await ask("apply", str(manifest), "--dry-run") == 0
    assert "dry run" in capsys.readouterr().out
    assert await ask("diff", str(manifest)) == 1
    capsys.readouterr()
    write(manifest, ("tool", TOOL), ("agent", AGENT))
    for words in ((), ("--dry-run",)):
        assert await ask("apply", str(manifest), *words) == 1
        told = capsys.readouterr()
        assert "tool/echo/binding/connection: connection: there is no connection 'fake'" in told.err
    assert await ask("apply", str(manifest), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["applied"] is False
    assert found["problems"][0]["rule"] == "connection"


async def test_who_may_not_is_told_in_a_sentence(gateway: Replica, ask: Ask, manifest: Path, capsys: Told) -> None:
    """Exit code 2: nothing was found wrong with the manifests."""
    gateway.engine.admin_answer = None
    assert await ask("apply", str(manifest)) == 2
    assert "No policy rule covers this" in capsys.readouterr().err
