"""The demo's run cleans up after itself, whatever happens."""

import asyncio
from pathlib import Path

import pytest

from gateway.cli.demo import run
from gateway.cli.demo.project import Project, prepare_folders
from gateway.errors import StartError


def _quiet(_what: str, _detail: str) -> None:
    """Nobody watches."""


def _project(root: Path) -> Project:
    made = Project(root=root, socket=root / "s")
    prepare_folders(made)
    return made


async def test_a_gateway_that_does_not_start_is_a_sentence_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log's end says why; the servers are gone, and so is what the gateway would have signed in with."""
    seen: list[int] = []

    def write_nonsense(project: Project, world: run.World, backends: run.Backends) -> None:
        seen.append(world.web_port)
        project.secret_id_file.write_text(backends.secret_id)
        project.settings.write_text("listeners: 7\n")

    monkeypatch.setattr(run, "write_project", write_nonsense)
    with pytest.raises(StartError, match="the gateway did not start") as caught:
        await run.run_demo(tmp_path / "demo", _quiet)
    assert any("listeners" in problem for problem in caught.value.problems)
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", seen[0])
    assert not (tmp_path / "demo" / "secrets").exists()


def test_a_long_path_gets_a_socket_elsewhere(tmp_path: Path) -> None:
    """A Unix socket's name has no room for it; the folder of the socket does not outlive the demo."""
    long = tmp_path / ("x" * 90)
    with run._project(long) as project:
        assert project.root == long.resolve()
        assert len(str(project.control)) <= run.LONGEST_SOCKET_PATH
        elsewhere = project.socket.parent
        assert elsewhere.is_dir()
    assert not elsewhere.exists()
    with run._project(Path("/tmp/d")) as project:
        assert project.socket == Path("/tmp/d/gateway.sock")


def test_a_folder_has_one_demo_at_a_time(tmp_path: Path) -> None:
    """The second would remove what the first works with; it ends with a sentence and removes nothing."""
    with run._project(tmp_path / "demo") as project:
        project.secrets.mkdir()
        with pytest.raises(StartError, match=r"another demo is running in .*/demo; "), run._project(tmp_path / "demo"):
            pass
        assert project.secrets.is_dir()
    with run._project(tmp_path / "demo"):
        pass


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """And no traceback."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"cannot be written \(.*\); run"), run._project(tmp_path / "file" / "demo"):
        pass


def test_passwords_are_new_each_time_and_hard_to_write() -> None:
    """Quotes, a backslash, an umlaut and markup: every encoding writes them differently."""
    one, other = run._password(), run._password()
    assert one != other
    assert set('"\\&<ü') <= set(one)
    assert one.isprintable()


def test_the_password_is_looked_for_in_every_file(tmp_path: Path) -> None:
    """Whoever wrote it, and at any depth."""
    project = _project(tmp_path)
    places = ("state/journal.log", "logs/openbao.log", "secrets/secret-id", "tollhouse.yaml")
    for place in places:
        (tmp_path / place).write_text("x pass-word y")
    found = run.search(run._written(project), run.forms("pass-word"))
    assert {hit.place for hit in found} == set(places)
