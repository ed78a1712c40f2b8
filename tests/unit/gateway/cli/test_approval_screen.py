"""What a person sees of an approval, and that nothing in it can act on the terminal."""

import io
from typing import Any

import pytest

from gateway.cli.approval_screen import line_of, outlook, print_approval, print_table
from gateway.cli.terminal import terminal


def _approval(**changes: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "approval_id": "apr_1",
        "state": "open",
        "tool": "pay",
        "tool_version": "1",
        "connection": "bank",
        "agent": "helper",
        "requester": "helper-1",
        "risk": "high",
        "policy_revision": "r1",
        "arguments_digest": "sha256:aa",
        "needed": 2,
        "roles": ["boss"],
        "reasons": ["high_risk"],
        "decisions": [],
        "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-02T00:00:00Z",
    }
    return {**usual, **changes}


def _shown(**changes: Any) -> str:
    file = io.StringIO()
    print_approval(terminal(file), _approval(**changes))
    return file.getvalue()


def test_what_is_and_what_will_be_stand_side_by_side() -> None:
    """Line by line, and what else the tool told below."""
    told = _shown(preview={"was": {"a": 1, "b": 2}, "will_be": {"a": 1, "b": 3}, "note": "in EUR"})
    assert '-  "b": 2' in told
    assert '+  "b": 3' in told
    assert "in EUR" in told


@pytest.mark.parametrize("preview", ["a draft", ["was"], {"was": 1}, None])
def test_another_preview_is_shown_as_it_is(preview: object) -> None:
    """Whatever JSON it is."""
    assert "preview" in _shown(preview=preview)


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85"])
def test_no_text_in_a_preview_forges_a_line_of_it(end: str) -> None:
    """What JSON leaves as it is and others take for the end of a line is escaped, on the line that it is in."""
    told = _shown(preview={"was": {"body": "a"}, "will_be": {"body": f'b{end}  "amount": 1'}})
    (line,) = [line for line in told.splitlines() if "amount" in line]
    assert line.startswith('+  "body": "b')


def test_nothing_changes_is_said() -> None:
    """An empty comparison would look like none."""
    assert "nothing changes" in _shown(preview={"was": [1], "will_be": [1]})


def test_nothing_from_outside_acts_on_the_terminal() -> None:
    """Neither in arguments nor in a preview, a reason or a name."""
    evil = "\x1b[2J\u202eevil"
    told = _shown(
        arguments={"text": evil},
        preview={"was": evil, "will_be": f"{evil}!"},
        tool=evil,
        reasons=[evil],
        decisions=[{"person": evil, "approved": False, "role": evil, "reason": evil, "decided_at": ""}],
    )
    assert "\x1b" not in told
    assert "\u202e" not in told


def test_a_table_tells_how_many_have_approved() -> None:
    """Of how many, and with which role."""
    file = io.StringIO()
    one = {"person": "ann", "approved": True, "role": "boss", "reason": "x", "decided_at": ""}
    print_table(terminal(file), [_approval(decisions=[one])])
    assert "2 boss" in file.getvalue()
    assert " 1 " in file.getvalue()


@pytest.mark.parametrize(
    ("state", "words"),
    [("open", "0 of 2 have approved"), ("approved", "it runs now"), ("denied", "will not run"), ("used", "")],
)
def test_what_comes_next_is_told(state: str, words: str) -> None:
    """After every decision."""
    assert words in str(outlook(_approval(state=state)))
    assert str(line_of(_approval(state=state))).startswith(state)
