"""The second scene in the summary and on the screen."""

import io
from typing import Any

import pytest
from fakes.demo_refund import good_refund

from gateway.cli.demo.refund.checks import run_refund_checks
from gateway.cli.demo.refund.evidence import LeftOut
from gateway.cli.demo.refund.report import print_refund, with_refund
from gateway.cli.terminal import terminal

FIRST: dict[str, Any] = {"ok": True, "calls": 25, "checks": []}


def test_the_first_scenes_summary_stays_as_it_is() -> None:
    """But for `ok`, which is of both."""
    evidence = good_refund()
    summary = with_refund(FIRST, evidence, run_refund_checks(evidence))
    assert {name: summary[name] for name in FIRST} == FIRST
    assert summary["scene2"]["title"] == "A customer is double charged"
    assert summary["scene2"]["outcomes"] == {"ok": 7, "pending": 1, "replay": 1}
    assert with_refund(FIRST, evidence, ())["ok"] is False
    assert with_refund(FIRST | {"ok": False}, evidence, run_refund_checks(evidence))["ok"] is False


def test_what_was_left_out_makes_nothing_better() -> None:
    """A first scene that failed has failed."""
    left_out = LeftOut(why="there is no Node")
    assert with_refund(FIRST | {"ok": False}, left_out, ())["ok"] is False
    assert with_refund(FIRST, left_out, ())["scene2"] == {"run": False, "why": "there is no Node"}


def test_what_happened_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, decisions, lines and checks, a table each."""
    monkeypatch.setenv("COLUMNS", "160")
    file, evidence = io.StringIO(), good_refund()
    print_refund(terminal(file), evidence, run_refund_checks(evidence))
    shown = file.getvalue()
    for words in ("Scene two", "ask for the refund", "approver-2", "The audit", "There is one issue at Linear"):
        assert words in shown


def test_why_it_was_left_out_cannot_act_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a program said."""
    monkeypatch.setenv("COLUMNS", "160")
    file = io.StringIO()
    print_refund(terminal(file), LeftOut(why="npm said \x1b[2J[bold]x[/bold]"), ())
    assert "\x1b" not in file.getvalue()
    assert "[bold]x[/bold]" in file.getvalue()
