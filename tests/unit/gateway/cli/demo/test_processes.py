"""The demo's processes get nothing that they need not have, and none is left running."""

import json
from pathlib import Path

import pytest

from gateway.cli.demo import processes
from gateway.cli.demo.project import Project, prepare_folders
from gateway.errors import StartError


async def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left running."""
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.2)
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
    process = await processes.start(["-c", code], tmp_path)
    assert process.stdout is not None
    await process.stdout.readline()
    assert await processes.stop(process) == -9


async def test_stopping_what_has_ended_tells_its_exit_code(tmp_path: Path) -> None:
    """Calling it again is harmless."""
    process = await processes.start(["-c", "raise SystemExit(3)"], tmp_path)
    await process.wait()
    assert [await processes.stop(process), await processes.stop(process)] == [3, 3]


async def test_a_process_gets_no_secret_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is an allow-list, and the working directory is no source of code."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")
    code = "import json, os, sys; print(json.dumps([dict(os.environ), sys.path]))"
    process = await processes.start(["-c", code], tmp_path)
    assert process.stdout is not None
    environment, path = json.loads(await process.stdout.read())
    await process.wait()
    assert "s3cret" not in environment.values()
    assert "PYTHONPATH" not in environment
    assert str(tmp_path) not in path
    assert "" not in path


async def test_a_command_is_told_with_its_exit_code(tmp_path: Path) -> None:
    """What it printed and what it complained of, apart."""
    assert await processes.typed(["version"], tmp_path) == (0, "tollhouse 0.1.0\n", "")
    code, out, complaint = await processes.typed(["approvals", "list", "--socket", "nowhere"], tmp_path)
    assert (code, out) == (2, "")
    assert complaint.startswith("tollhouse: no gateway answers")


async def test_a_command_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And told as one that was killed."""
    monkeypatch.setattr(processes, "COMMAND_SECONDS", 0.0)
    assert await processes.typed(["version"], tmp_path) == (processes.KILLED, "", "it did not end")


async def test_a_gateway_that_cannot_start_is_a_sentence_with_the_end_of_its_log(tmp_path: Path) -> None:
    """Its exit code is kept."""
    project = Project(root=tmp_path, socket=tmp_path / "s")
    prepare_folders(project)
    project.settings.write_text("listeners: 7\n")
    codes: list[int] = []
    with pytest.raises(StartError, match="the gateway did not start") as caught:
        async with processes.gateway(project, codes):
            pass
    assert any("listeners" in problem for problem in caught.value.problems)
    assert codes == [2]
