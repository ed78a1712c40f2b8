"""The demo's run cleans up after itself, whatever happens, and its processes get nothing that they need not have."""

import asyncio
import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.demo_evidence import TASKS

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


async def test_an_agent_that_cannot_call_is_seen_as_such(tmp_path: Path) -> None:
    """No gateway: the agent's exit code and the missing answers say so, and nothing is raised."""
    seen = run.Seen()
    await run._run_agent(_project(tmp_path), TASKS, seen, _quiet)
    assert (seen.agent_exit, seen.tools, seen.calls) == (1, (), [])


async def test_an_agent_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket on which nobody answers holds the demo up no longer than the agent's time."""
    monkeypatch.setattr(run, "AGENT_SECONDS", 1.5)
    project = _project(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(project.socket))
        listening.listen()
        seen = run.Seen()
        await run._run_agent(project, TASKS, seen, _quiet)
    assert seen.agent_exit != 0


async def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left running."""
    monkeypatch.setattr(run, "STOP_SECONDS", 0.2)
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
    process = await run._start(["-c", code], _project(tmp_path))
    assert process.stdout is not None
    await process.stdout.readline()
    assert await run._stop(process) == -9


async def test_stopping_what_has_ended_tells_its_exit_code(tmp_path: Path) -> None:
    """Calling it again is harmless."""
    process = await run._start(["-c", "raise SystemExit(3)"], _project(tmp_path))
    await process.wait()
    assert [await run._stop(process), await run._stop(process)] == [3, 3]


async def test_a_process_gets_no_secret_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is an allow-list, and the working directory is no source of code."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    project = _project(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")
    code = "import json, os, sys; print(json.dumps([dict(os.environ), sys.path]))"
    process = await run._start(["-c", code], project)
    assert process.stdout is not None
    environment, path = json.loads(await process.stdout.read())
    await process.wait()
    assert "s3cret" not in environment.values()
    assert "PYTHONPATH" not in environment
    assert str(tmp_path) not in path
    assert "" not in path


def test_a_long_path_gets_a_socket_elsewhere(tmp_path: Path) -> None:
    """A Unix socket's name has no room for it; the folder of the socket does not outlive the demo."""
    long = tmp_path / ("x" * 90)
    with run._project(long) as project:
        assert project.root == long.resolve()
        assert len(str(project.socket)) <= run.LONGEST_SOCKET_PATH
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


def test_progress_tells_the_next_task() -> None:
    """A person sees what is being done, and how much of it there is."""
    said: list[tuple[str, str]] = []
    seen = run.Seen()
    tasks = (TASKS[0], replace(TASKS[1], says="the second"))
    run._take({"kind": "tools", "tools": [{"name": "one"}]}, tasks, seen, lambda *words: said.append(words))
    run._take({"kind": "call", "label": "fetch"}, tasks, seen, lambda *words: said.append(words))
    run._take({"kind": "call", "label": "extract"}, tasks, seen, lambda *words: said.append(words))
    assert seen.tools == ("one",)
    assert [detail for _, detail in said] == ["1 of 2: fetch a page", "2 of 2: the second"]
