"""The scene keeps what every process told, also when one of them cannot go on."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.demo_evidence import TASKS, good_mail

from gateway.cli.demo import scene
from gateway.cli.demo.errand import ANNOUNCEMENT
from gateway.cli.demo.project import Project, prepare_folders
from gateway.cli.demo.run import script_of
from gateway.cli.demo.scene import Scene, Seen
from gateway.cli.demo.servers import World


def _quiet(_what: str, _detail: str) -> None:
    """Nobody watches."""


def _scene(root: Path, seen: Seen, world: World | None = None) -> Scene:
    project = Project(root=root, socket=root / "s")
    prepare_folders(project)
    return Scene(project, script_of(project, TASKS, world or World()), seen, _quiet)


async def test_an_agent_that_cannot_call_is_seen_as_such(tmp_path: Path) -> None:
    """No gateway: the agent's exit code and the missing answers say so, and nothing is raised."""
    seen = Seen()
    await _scene(tmp_path, seen).run_agent()
    assert (seen.agent_exit, seen.tools, seen.answers) == (1, (), [])
    assert (seen.typed, seen.done_before) == ([], -1)


async def test_an_agent_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket on which nobody answers holds the demo up no longer than the agent's time."""
    monkeypatch.setattr(scene, "AGENT_SECONDS", 1.5)
    seen = Seen()
    playing = _scene(tmp_path, seen)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        await playing.run_agent()
    assert seen.agent_exit != 0


async def test_a_call_that_waits_brings_the_person_in(tmp_path: Path) -> None:
    """What was sent by then is counted first; here nobody serves, and what was typed says so."""
    seen = Seen()
    world = World(mailbox=[good_mail("Hello"), good_mail(ANNOUNCEMENT)])
    playing = _scene(tmp_path, seen, world)
    waiting = {"kind": "call", "label": "approval", "value": {"pending": {"approval_id": "apr_1"}}}
    playing._take(waiting)
    playing._take(waiting)
    assert playing._deciding is not None
    await playing._deciding
    assert seen.done_before == 1
    assert [(one.who, one.words[1], one.exit_code) for one in seen.typed] == [
        ("reporter", "approve", 2),
        ("approver-1", "list", 2),
    ]


async def test_a_call_that_does_not_wait_brings_nobody_in(tmp_path: Path) -> None:
    """There is nothing to decide."""
    seen = Seen()
    playing = _scene(tmp_path, seen)
    playing._take({"kind": "call", "label": "approval", "value": {"result": {}}})
    assert playing._deciding is None


def test_progress_tells_the_next_task(tmp_path: Path) -> None:
    """A person sees what is being done, and how much of it there is."""
    said: list[tuple[str, str]] = []
    seen = Seen()
    tasks = (TASKS[0], replace(TASKS[1], says="the second"))
    project = Project(root=tmp_path, socket=tmp_path / "s")
    playing = Scene(project, script_of(project, tasks, World()), seen, lambda *words: said.append(words))
    for told in ({"kind": "tools", "tools": [{"name": "one"}]}, {"kind": "call", "label": "a"}, {"kind": "call"}):
        playing._take(told)
    assert seen.tools == ("one",)
    assert [detail for _, detail in said] == ["1 of 2: fetch a page", "2 of 2: the second"]
