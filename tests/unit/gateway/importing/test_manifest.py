"""The manifest says exactly what was proposed, whatever that is, and marks what a person has to look at."""

from typing import Any

import pytest
from fakes.descriptions import answered, document, proposed
from hypothesis import given
from hypothesis import strategies as st

from gateway.documents import documents_of
from gateway.importing.connections import ProposedConnection
from gateway.importing.manifest import MAX_NOTES, written
from gateway.importing.proposing import LeftOut, Proposal, ProposedTool

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=150)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15, allow_nan=False)
KEYS = st.text(st.characters(exclude_categories=("Cs",)), max_size=90)
ODD = ("no", "1e3", "null", "~", "- a", "a: b", "# x", "0x1", "=", "<<", "17:00", "2001-01-01")
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


def proposal(row: dict[str, Any], *, skipped: tuple[LeftOut, ...] = (), notes: tuple[str, ...] = ()) -> Proposal:
    """Of one tool."""
    connection = ProposedConnection(row={"name": "notes", "credential": ""}, reviews={"credential": "fill it in"})
    tool = ProposedTool(operation="GET /a", row=row, reviews={"side_effect": "guessed"}, notes=notes)
    return Proposal(connection=connection, tools=[tool], skipped=skipped)


def read(text: str) -> Any:
    """As the registry does."""
    return documents_of(text, "rows.yaml")[0].value


@given(value=VALUES)
def test_whatever_a_row_holds_comes_back(value: Any) -> None:
    """Through the registry's strict reader: texts that look like something else, and every character."""
    row = {"name": "a", "value": value}
    assert read(written(proposal(row), source="f"))["tools"] == [row]


@given(text=TEXTS)
def test_a_comment_is_one_line(text: str) -> None:
    """Nothing that a document says can end one."""
    skipped = (LeftOut(operation=text, reason=text),)
    shown = written(proposal({"name": "a"}, skipped=skipped, notes=(text,)), source=text)
    assert read(shown) == {"connections": [{"name": "notes", "credential": ""}], "tools": [{"name": "a"}]}


def test_what_was_guessed_is_marked_on_its_line() -> None:
    """As is what is to be filled in; what was left out stands above its tool, what was skipped at the end."""
    notes = tuple(f"/p{number} takes any object, and is left out" for number in range(MAX_NOTES + 5))
    skipped = (LeftOut(operation="GET /x", reason="its answer is a redirect"),)
    row = {"name": "a", "side_effect": "read"}
    lines = written(proposal(row, skipped=skipped, notes=notes), source="f").splitlines()
    assert '  credential: ""  # review: fill it in' in lines
    assert "  side_effect: read  # review: guessed" in lines
    assert "  # review: /p0 takes any object, and is left out" in lines
    assert "  # review: 5 more parts are left out" in lines
    assert lines[-1] == "# skipped: GET /x: its answer is a redirect"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_proposal_is_written_for_a_person(method: str) -> None:
    """Long words are folded, and short things stand on one line."""
    operation = {"operationId": "find", "description": "Finds. " * 60, **answered()}
    shown = written(proposed(document({"/notes": {method: operation}})), source="notes.json")
    assert all(len(line) <= 120 for line in shown.splitlines() if "# review" not in line)
    assert "  description: >-\n" in shown
    assert "  surfaces: [grpc]\n" in shown


def test_nothing_proposed_is_still_a_manifest() -> None:
    """With the connection alone."""
    empty = Proposal(connection=proposal({}).connection, tools=[], skipped=())
    assert list(read(written(empty, source="f"))) == ["connections"]
