"""Cursors lead to a page of the list that they are of, and nowhere else, whatever an agent makes of them."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import ArgumentProblem
from adapters.transport.cursors import MAX_CHARACTERS, cursor_to, with_page

LIST = {"channel": "C1", "limit": 20}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def read(cursor: Any, arguments: dict[str, Any] | None = None, operation: str = "list") -> Any:
    """The page that a cursor leads to."""
    return with_page(operation, {**(LIST if arguments is None else arguments), "cursor": cursor})["page"]


def rule(cursor: Any, **more: Any) -> str:
    """The rule that a cursor breaks."""
    with pytest.raises(ArgumentProblem) as caught:
        read(cursor, **more)
    (issue,) = caught.value.issues
    assert issue.path == "/cursor"
    return issue.rule


def packed(value: Any) -> str:
    """In the form of a cursor."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("page", ["dXNlcjpVMEc5V0ZYTlo=", "2", 2, 0, 2**53 - 1, "a" * 2048, "~!/?&%\\\"'{}"])
def test_there_and_back(page: str | int) -> None:
    """What the vendor calls the next page comes back as it was, number or text."""
    cursor = cursor_to(page, "list", LIST)
    assert cursor is not None
    assert read(cursor) == page
    assert type(read(cursor)) is type(page)


@pytest.mark.parametrize(
    "page", [None, "", "a" * 2049, "é", "a\nb", "a\x00", "\ud800", -1, 2**53, True, False, 1.5, ["a"], {"a": 1}, b"a"]
)
def test_what_is_no_page_ends_the_list(page: Any) -> None:
    """Whatever a vendor sends."""
    assert cursor_to(page, "list", LIST) is None


@pytest.mark.parametrize("page", ["p2", 2])
def test_a_page_that_leads_to_itself_ends_the_list(page: str | int) -> None:
    """An agent would go round for ever."""
    assert cursor_to(page, "list", {"page": page}) is None
    assert cursor_to(page, "list", {"page": None}) is not None


def test_a_cursor_that_would_not_be_taken_back_is_not_given() -> None:
    """Quoting makes some pages longer than an argument may be."""
    assert cursor_to('"' * 2048, "list", LIST) is None
    longest = cursor_to('"' * 1500, "list", LIST)
    assert longest is not None
    assert len(longest) <= MAX_CHARACTERS
    assert read(longest) == '"' * 1500


@given(st.text() | st.integers(), st.dictionaries(st.text(), json_values, max_size=4))
def test_whatever_is_given_is_taken_back(page: str | int, arguments: dict[str, Any]) -> None:
    """Of any list, of any page that there is a cursor to."""
    cursor = cursor_to(page, "list", arguments)
    if cursor is not None:
        assert len(cursor) <= MAX_CHARACTERS
        assert read(cursor, arguments) == page


def test_the_first_page_has_neither() -> None:
    """And what policy sees names both all the same."""
    assert with_page("list", LIST) == {**LIST, "cursor": None, "page": None}
    assert with_page("list", {**LIST, "cursor": None}) == {**LIST, "cursor": None, "page": None}


@pytest.mark.parametrize(
    "other",
    [
        {"channel": "C2", "limit": 20},
        {"channel": "C1"},
        {"channel": "C1", "limit": 20, "more": None},
        {},
        {"limit": 20},
    ],
)
def test_it_is_of_its_list_alone(other: dict[str, Any]) -> None:
    """Policy has seen the arguments of that one."""
    assert rule(cursor_to("p", "list", LIST), arguments=other) == "other_list"


def test_it_is_of_its_operation_alone() -> None:
    """Two operations may have equal arguments."""
    assert rule(cursor_to("p", "list", LIST), operation="search") == "other_list"


def test_the_order_of_arguments_does_not_matter() -> None:
    """Nor do a cursor and a page that stand beside them already."""
    cursor = cursor_to("p", "list", {"limit": 20, "page": "old", "cursor": "old", "channel": "C1"})
    assert read(cursor) == "p"


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "=",
        "====",
        "not a cursor",
        "!!!!",
        "é",
        "\ud800",
        "\x00",
        packed(None),
        packed("p"),
        packed([]),
        packed(["p"]),
        packed(["p", "x", "y"]),
        packed({"p": 1, "x": 2}),
        packed([None, "x"]),
        packed([True, "x"]),
        packed([1.5, "x"]),
        packed([-1, "x"]),
        packed([["p"], "x"]),
        packed(["", "x"]),
        packed(["p", 1]),
        packed(["p", None]),
        packed(["a\r\nX-Evil: 1", "x"]),
        packed(["é", "x"]),
        packed(["a" * 3000, "x"]),
        "W" * 20_000,
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
        base64.urlsafe_b64encode(b'["p", NaN]').decode(),
        base64.urlsafe_b64encode(b'\xff["p","x"]').decode(),
        7,
        True,
        ["p", "x"],
        {"page": "p"},
        b"abcd",
    ],
    ids=lambda cursor: repr(cursor)[:40],
)
def test_what_is_no_cursor_is_told_in_a_sentence(cursor: Any) -> None:
    """Never a crash, and never a page."""
    assert rule(cursor) == "cursor"


@given(st.text(max_size=200) | st.binary(max_size=100).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_whatever_an_agent_sends_is_a_page_of_the_list_or_a_problem(cursor: str) -> None:
    """And nothing else."""
    rules = {"none"}
    try:
        page = read(cursor)
    except ArgumentProblem as problem:
        page, rules = "none", {issue.rule for issue in problem.issues}
    assert page is not None
    assert rules <= {"none", "cursor", "other_list"}


def test_one_that_is_made_up_leads_to_the_same_list_at_most() -> None:
    """Who knows the form can ask for another page of what they may ask for; nothing else is in it."""
    cursor = cursor_to("page-2", "list", LIST)
    assert cursor is not None
    value = json.loads(base64.urlsafe_b64decode(cursor + "=="))
    assert value[0] == "page-2"
    forged = packed(["page-9", value[1]])
    assert with_page("list", {**LIST, "cursor": forged}) == {**LIST, "cursor": forged, "page": "page-9"}
    assert rule(packed(["page-9", value[1]]), arguments={"channel": "secret", "limit": 20}) == "other_list"


def test_an_agents_own_page_does_not_count() -> None:
    """Whatever stands under that name: the cursor says which."""
    assert with_page("list", {**LIST, "page": "planted"})["page"] is None
    cursor = cursor_to("p", "list", LIST)
    assert with_page("list", {**LIST, "cursor": cursor, "page": "planted"})["page"] == "p"


@pytest.mark.parametrize("value", [2**70, -(2**70), "\ud800", 1e308, {"deep": [[[{}]]]}, "ü" * 100])
def test_whatever_else_is_asked_for_can_be_listed(value: Any) -> None:
    """What JSON can hold can be an argument, and `prepare` raises nothing of its own."""
    arguments = {"query": value}
    cursor = cursor_to("p", "list", arguments)
    assert cursor is not None
    assert read(cursor, arguments) == "p"
