"""Both scenes are told, and one that does not hold is a failure of the whole."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from fakes.demo_evidence import good_evidence
from fakes.demo_refund import good_refund

from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.refund.evidence import LeftOut, RefundEvidence
from gateway.cli.demo.telling import tell
from gateway.cli.terminal import terminal


def _told(first: Evidence, second: RefundEvidence | LeftOut, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    monkeypatch.setenv("COLUMNS", "160")
    file = io.StringIO()
    summary = tell(terminal(file), first, second)
    return json.loads(json.dumps(summary)), file.getvalue()


def test_what_held_in_both_scenes_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first scene's facts stay where they are; the second's are below `scene2`."""
    summary, shown = _told(good_evidence(), good_refund(), monkeypatch)
    assert (summary["ok"], summary["calls"], summary["scene2"]["run"], summary["scene2"]["ok"]) == (
        True,
        25,
        True,
        True,
    )
    effects = {name: summary["scene2"][name] for name in ("calls", "lines", "refunds", "issues", "messages", "mails")}
    assert effects == {"calls": 9, "lines": 9, "refunds": 1, "issues": 1, "messages": 1, "mails": 1}
    assert "Scene two: a customer is double charged" in shown
    assert "✗" not in shown


def test_a_second_scene_that_does_not_hold_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """However well the first went."""
    summary, shown = _told(good_evidence(), replace(good_refund(), refunds=()), monkeypatch)
    assert (summary["ok"], summary["scene2"]["ok"]) == (False, False)
    assert "✗" in shown
    summary, _ = _told(replace(good_evidence(), trapped=1), good_refund(), monkeypatch)
    assert (summary["ok"], summary["scene2"]["ok"]) == (False, True)


def test_a_second_scene_that_was_left_out_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plainly, and it is no failure."""
    summary, shown = _told(good_evidence(), LeftOut(why="there is no Node"), monkeypatch)
    assert summary["ok"] is True
    assert summary["scene2"] == {"run": False, "why": "there is no Node"}
    assert "It was left out: there is no Node." in shown
