"""`serve` takes its settings from where it is told, and the demo's progress is quiet where nobody watches."""

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway import app
from gateway.cli import running
from gateway.cli.demo import run as demo_run
from gateway.cli.root import run
from gateway.cli.starting import write_starter
from gateway.cli.terminal import terminal
from gateway.errors import StartError
from gateway.settings.load import Settings

Told = pytest.CaptureFixture[str]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that a gateway would have been run with; none is run."""
    seen: list[Settings] = []

    async def note(
        settings: Settings,
        _on_ready: Callable[[app.Gateway], None],
        *,
        reread: Callable[[], Settings],
        config: Path | None,
    ) -> None:
        assert reread() == settings
        assert config is None or config.suffix == ".yaml"
        seen.append(settings)

    monkeypatch.setattr(app, "run", note)
    return seen


def test_without_a_file_it_is_the_default_in_the_state_directory(served: list[Settings], tmp_path: Path) -> None:
    """One socket, for one agent that has no row."""
    assert run(["serve", "--state-dir", str(tmp_path)]) == 0
    assert served[0].state_dir == tmp_path
    assert [listener.address for listener in served[0].listeners] == [f"unix:{tmp_path / 'gateway.sock'}"]


def test_a_state_directory_on_the_command_line_wins(served: list[Settings], tmp_path: Path) -> None:
    """Over that of the settings; everything else is theirs."""
    write_starter(tmp_path)
    assert run(["serve", "--config", str(tmp_path / "tollhouse.yaml"), "--state-dir", str(tmp_path / "other")]) == 0
    assert run(["serve", "--config", str(tmp_path / "tollhouse.yaml")]) == 0
    assert [settings.state_dir for settings in served] == [tmp_path / "other", tmp_path / "state"]
    assert served[0].listeners == served[1].listeners


@pytest.mark.parametrize(("sinks", "place"), [("", "out"), (", {kind: stdout}", "err")])
def test_the_screen_leaves_standard_output_to_audit_lines(sinks: str, place: str, tmp_path: Path, capsys: Told) -> None:
    """Whoever collects lines there must not find a screen among them."""
    file = tmp_path / "t.yaml"
    listener = "{name: a, address: 'unix:g', identity: {kind: fixed, tenant: acme, agent: a}}"
    file.write_text(f"listeners: [{listener}]\naudit: {{sinks: [{{kind: jsonl}}{sinks}]}}\n")
    running._console(running._settings(file, None)).print("Tollhouse is ready.")
    told = capsys.readouterr()._asdict()
    assert told.pop(place) == "Tollhouse is ready.\n"
    assert "".join(told.values()) == ""


def test_settings_that_cannot_be_used_are_two(served: list[Settings], tmp_path: Path, capsys: Told) -> None:
    """Every problem with its line, and nothing is started."""
    file = tmp_path / "t.yaml"
    file.write_text("listeners: []\nnonsense: 1\n")
    assert run(["serve", "--config", str(file)]) == 2
    assert "t.yaml:2:" in capsys.readouterr().err
    assert run(["serve", "--config", str(tmp_path / "nothing")]) == 2
    assert served == []


def test_a_demo_that_cannot_run_leaves_no_summary_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    """A script must not read yesterday's success."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".run").mkdir()
    (tmp_path / running.DEMO_SUMMARY).write_text(json.dumps({"ok": True}))

    async def fail(_folder: Path, _say: demo_run.Say) -> None:
        raise StartError("the demo needs something; install it")

    monkeypatch.setattr(demo_run, "run_scenes", fail)
    assert run(["demo"]) == 2
    assert capsys.readouterr().err == "tollhouse: the demo needs something; install it\n"
    assert not (tmp_path / running.DEMO_SUMMARY).exists()


def test_a_demo_that_is_ended_exits_as_shells_expect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """143 after SIGTERM, which cancels it."""
    monkeypatch.chdir(tmp_path)

    async def ended(_folder: Path, _say: demo_run.Say) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(demo_run, "run_scenes", ended)
    assert run(["demo"]) == running.ENDED


def test_progress_in_a_log_is_a_line_for_each_phase() -> None:
    """Details are for the moving line of a terminal."""
    file = io.StringIO()
    with running._Progress(terminal(file)) as progress:
        progress.say("starting", "")
        progress.say("at work", "1 of 2")
        progress.say("at work", "2 of 2")
    assert file.getvalue() == "starting …\nat work …\n"
