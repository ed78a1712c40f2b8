"""The report shows what happened, and what came from outside cannot act in it."""

import copy
import io
import json
from dataclasses import replace

import pytest
from fakes.demo_evidence import good_evidence

from gateway.cli.demo.checks import run_checks
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.report import print_report, summary, told
from gateway.cli.terminal import terminal


def _printed(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "160")
    file = io.StringIO()
    print_report(terminal(file), evidence, run_checks(evidence))
    return file.getvalue()


def test_the_summary_holds_what_a_script_asks_for() -> None:
    """Everything can be written as JSON."""
    evidence = good_evidence()
    found = json.loads(json.dumps(summary(evidence, run_checks(evidence))))
    assert found["ok"] is True
    assert (found["calls"], found["lines"], found["secret_hits"]) == (25, 25, 0)
    assert (found["approvals"], found["executions"]) == (1, 1)
    assert (found["chain_verified"], found["policy_engine"]) == (True, "embedded")
    assert found["outcomes"] == {
        "budget_exceeded": 1,
        "not_found": 2,
        "ok": 7,
        "pending": 1,
        "permission_denied": 6,
        "rate_limited": 5,
        "replay": 2,
        "validation_failed": 1,
    }


def test_one_failed_check_makes_the_summary_not_ok() -> None:
    """And so does having no checks at all."""
    evidence = replace(good_evidence(), trapped=1)
    assert summary(evidence, run_checks(evidence))["ok"] is False
    assert summary(evidence, ())["ok"] is False


def test_calls_lines_and_checks_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alike calls stand together, with their number."""
    shown = _printed(good_evidence(), monkeypatch)
    assert "ask for the time (3 times)" in shown
    assert "ask for the time (5 times)" in shown
    assert "follow the parked call" in shown
    assert "The audit" in shown
    assert shown.count("✓") == len(run_checks(good_evidence()))
    assert "✗" not in shown


def test_who_decided_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands as they were typed, but for the ends of ids, and the gist of what each came to."""
    shown = _printed(good_evidence(), monkeypatch)
    for words in (
        "Who decides",
        "tollhouse approvals approve apr_1 --reason 'I agree with myself.'",
        "what answers at unix:/g does not serve this",
        "1 waiting: announcement_send for reporter",
        'asked because of high_risk: {"subject": "To all of us"}',
        "tool email_send is stopped",
        "approved: it runs",
    ):
        assert words in shown
    assert "--socket or --address" not in shown


def test_a_command_that_told_nothing_shows_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its complaint, or its exit code."""
    typed = replace(good_evidence().typed[1], exit_code=-9, told={})
    assert "exit code -9" in _printed(replace(good_evidence(), typed=(typed,)), monkeypatch)


def test_a_failed_check_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sees which one."""
    shown = _printed(replace(good_evidence(), chain_verified=False, chain_words="audit-1:7: hash"), monkeypatch)
    assert "✗   The audit chain verifies" in shown
    assert "audit-1:7: hash" in shown


def test_hostile_words_are_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page or a line cannot colour, move or hide anything."""
    evidence = good_evidence()
    answers = copy.deepcopy(list(evidence.answers))
    answers[0]["value"]["result"]["receipt"] = "\x1b[2J[bold]x[/bold]\u202e"
    typed = (replace(evidence.typed[0], complaint="\x1b[2J"),)
    lines = [dict(line) for line in evidence.lines]
    lines[0]["tool"] = "\x1b]0;owned\x07"
    shown = _printed(replace(evidence, answers=tuple(answers), lines=tuple(lines), typed=typed), monkeypatch)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]x[/bold]" in shown


def test_what_is_told_is_what_an_agent_reads_first() -> None:
    """Issues before the message, and when to ask again."""
    issue = {"path": "/to", "message": "must be a list"}
    named = {"path": "/b", "message": "`b` is required."}
    error = {"message": "No.", "issues": [], "retry_after_ms": 0}
    assert told({"result": {"receipt": "Done."}}) == "Done."
    assert told({"pending": {"message": "Wait."}}) == "Wait."
    assert told({"error": error}) == "No."
    assert told({"error": error | {"issues": [issue, named]}}) == "/to: must be a list `b` is required."
    assert told({"error": error | {"retry_after_ms": 1500}}) == "No. (in 1.5 s)"
