"""Manifests against rows: what would change, and rows written so that they read the same again."""

from pathlib import Path

import pytest
from fakes.administration import AGENT, CONNECTION, TOOL
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.manifests import Planned, Present, difference, plan, wanted_in, written
from gateway.documents import documents_of
from gateway.errors import StartError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
ODD = st.sampled_from(
    ["no", "1e3", "17:00", "2026-01-01", "0x1f", "~", "", " a", "a: b", "- x", "a\n b\n", "#", "=", "<<"]
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | ODD,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | ODD, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS | ODD, JSON, max_size=5))
def test_what_is_written_reads_the_same_again(value: dict[str, object]) -> None:
    """By the strict reader of manifests, whatever the row holds."""
    (document,) = documents_of(written([("tool", value)]), "x")
    assert document.value == {"tools": [value]}


def test_a_person_finds_the_name_first() -> None:
    """And connections before what needs them."""
    text = written([("agent", AGENT), ("tool", TOOL), ("connection", CONNECTION)])
    assert [line for line in text.splitlines() if not line.startswith(" ")] == [
        "connections:",
        "- name: fake",
        "tools:",
        "- name: echo",
        "agents:",
        "- name: helper",
    ]


def test_only_what_differs_is_planned() -> None:
    """What the manifests do not have stays, unless it is to go."""
    wanted = {("tool", "a"): {"x": 1}, ("tool", "b"): {"x": 2}, ("agent", "new"): {}}
    present = {
        ("tool", "a"): Present(version=3, value={"x": 1}),
        ("tool", "b"): Present(version=4, value={"x": 1}),
        ("tool", "old"): Present(version=5, value={}),
    }
    kept = [(one.action, one.name, one.version) for one in plan(wanted, present, prune=False)]
    assert kept == [("create", "new", 0), ("update", "b", 4)]
    pruned = [(one.action, one.name, one.version) for one in plan(wanted, present, prune=True)]
    assert pruned == [("create", "new", 0), ("update", "b", 4), ("delete", "old", 5)]


def test_a_difference_is_shown_line_by_line() -> None:
    """As a manifest has it."""
    planned = Planned(kind="agent", name="x", version=1, before={"name": "x", "a": 1}, after={"name": "x", "a": 2})
    assert difference(planned).splitlines() == [
        "--- registry agent/x",
        "+++ manifest agent/x",
        "@@ -1,3 +1,3 @@",
        " agents:",
        " - name: x",
        "-  a: 1",
        "+  a: 2",
    ]


def test_rows_are_read_as_they_are_written(tmp_path: Path) -> None:
    """Without the defaults of what they leave out."""
    (tmp_path / "a.yaml").write_text(written([("connection", CONNECTION), ("tool", TOOL)]))
    (tmp_path / "b.yaml").write_text(written([("agent", AGENT)]))
    assert wanted_in([tmp_path]) == {
        ("connection", "fake"): CONNECTION,
        ("tool", "echo"): TOOL,
        ("agent", "helper"): AGENT,
    }


@pytest.mark.parametrize("text", ["tools: [", "tools: [{name: x}]", written([("agent", AGENT), ("agent", AGENT)])])
def test_what_cannot_be_read_is_told_with_its_place(tmp_path: Path, text: str) -> None:
    """Nothing is asked of a gateway then."""
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(StartError) as caught:
        wanted_in([tmp_path])
    assert all("a.yaml:" in problem for problem in caught.value.problems)
