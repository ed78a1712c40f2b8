"""`audit tail` shows what happened, harmlessly, and `audit verify` names the first line that was changed."""

import json
from pathlib import Path

import pytest
from fakes.lines import line

from gateway.audit.chain import Chains, Sealing, file_name
from gateway.audit.lines import encode_line
from gateway.cli.root import run

Told = pytest.CaptureFixture[str]

HOSTILE = "\x1b[2J[bold]x[/bold]\u202e\r"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An audit of five lines, the fourth a refusal and the last with a hostile tool name."""
    lines = [line(f"call-{number}") for number in range(3)]
    lines.append(
        line(
            "call-3",
            outcome="permission_denied",
            reason="policy_denied",
            stopped_at="policy",
            policy_reasons=("recipient_not_granted",),
        )
    )
    lines.append(line("call-4", tool=HOSTILE, replay=True))
    sealing = Sealing(Chains.begun("w1", 0))
    raw = [sealing.segment(None, is_abandoned=False)]
    raw += [sealing.line(encode_line(one), one.tenant) for one in lines]
    (tmp_path / file_name(1)).write_bytes(b"".join(raw))
    return tmp_path


def _spoil(directory: Path, old: bytes, new: bytes) -> None:
    (file,) = directory.iterdir()
    file.write_bytes(file.read_bytes().replace(old, new))


def test_the_last_lines_are_shown_oldest_first(directory: Path, capsys: Told) -> None:
    """One a line: when, what came of it, who called what, where it stopped and why."""
    assert run(["audit", "tail", str(directory), "-n", "2"]) == 0
    refused, hostile = capsys.readouterr().out.splitlines()
    assert "permission_denied" in refused
    assert "acme/helper echo at policy: policy_denied, recipient_not_granted [call-3]" in refused
    assert "replay" in hostile
    assert "\\x1b[2J[bold]x[/bold]\\u202e\\r" in hostile


def test_json_lines_are_for_a_script(directory: Path, capsys: Told) -> None:
    """ASCII, one value a line, nothing lost."""
    assert run(["audit", "tail", str(directory), "--json"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert all(text.isascii() and text.isprintable() for text in shown)
    values = [json.loads(text) for text in shown]
    assert [value["call_id"] for value in values] == [f"call-{number}" for number in range(5)]
    assert values[4]["tool"] == HOSTILE


def test_a_line_that_cannot_be_read_says_so(directory: Path, capsys: Told) -> None:
    """In both forms; the lines around it are shown."""
    _spoil(directory, b"call-1", b"call-X")
    assert run(["audit", "tail", str(directory)]) == 0
    shown = capsys.readouterr().out
    assert "unreadable" in shown
    assert "call-2" in shown
    assert run(["audit", "tail", str(directory), "--json"]) == 0
    values = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert values[1]["line"] == 3
    assert "was changed" in values[1]["unreadable"]


def test_an_audit_as_it_was_written_verifies(directory: Path, capsys: Told) -> None:
    """Exit code 0, the number of lines and the head."""
    assert run(["audit", "verify", str(directory)]) == 0
    assert "verified 5 lines in 1 file" in capsys.readouterr().out
    assert run(["audit", "verify", str(directory), "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["ok"], verdict["lines"], verdict["first_bad"]) == (True, 5, None)


def test_the_first_bad_line_is_named(directory: Path, capsys: Told) -> None:
    """Exit code 1, with file and line; the lines before it are good."""
    _spoil(directory, b"call-2", b"call-X")
    assert run(["audit", "verify", str(directory)]) == 1
    shown = capsys.readouterr().out
    assert f"{file_name(1)}:4: was changed" in shown
    assert "2 lines before it are good" in shown
    assert run(["audit", "verify", str(directory), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["first_bad"]["line"] == 4


def test_a_missing_audit_is_two(tmp_path: Path, capsys: Told) -> None:
    """Nothing was found to be wrong: it could not be looked at."""
    for command in ("tail", "verify"):
        assert run(["audit", command, str(tmp_path / "nothing")]) == 2
        assert "there is no audit to read" in capsys.readouterr().err


def test_an_empty_directory_is_not_verified(tmp_path: Path, capsys: Told) -> None:
    """Somebody may have taken every file away."""
    assert run(["audit", "verify", str(tmp_path)]) == 1
    assert "nothing is verified" in capsys.readouterr().err
    assert run(["audit", "verify", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_an_outcome_that_nobody_writes_cannot_act_on_the_terminal(tmp_path: Path, capsys: Told) -> None:
    """Whoever can write the file can make its chain fit; it is shown as text all the same."""
    sealing = Sealing(Chains.begun("w1", 0))
    start = sealing.segment(None, is_abandoned=False)
    forged = sealing.line(encode_line(line("call-0", outcome="\x1b[2J")), "acme")
    (tmp_path / file_name(1)).write_bytes(start + forged)
    assert run(["audit", "tail", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "call-0" in out
