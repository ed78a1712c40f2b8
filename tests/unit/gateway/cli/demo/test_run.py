"""The demo's run cleans up after itself, whatever happens."""

import asyncio
from pathlib import Path

import pytest
from fakes.demo_evidence import TASKS, good_mail

from gateway.cli.demo import run
from gateway.cli.demo.errand import ANNOUNCEMENT
from gateway.cli.demo.project import Project, prepare_folders
from gateway.cli.demo.servers import World
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


def test_the_first_scene_counts_what_needed_approval_and_names_its_agent(tmp_path: Path) -> None:
    """Mail to everybody, of whatever is in the mailbox."""
    world = World(mailbox=[good_mail("Hello"), good_mail(ANNOUNCEMENT)])
    script = run.script_of(_project(tmp_path), TASKS, world)
    assert asyncio.run(script.done_before()) == 1
    assert (script.agent, script.waits, len(script.says)) == ("gateway.cli.demo.agent", "approval", len(TASKS))
    assert script.told[0]["label"] == script.says[0][0] == "fetch"
