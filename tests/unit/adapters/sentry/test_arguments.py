"""Policy sees exactly what Sentry gets."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.sentry import arguments
from adapters.transport.cursors import cursor_to

EVENT = "9fac2ceed9344f2bbfdd1fdacb0ed9b1"


def issues(prepare: Any, given: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and rule of everything that is wrong."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare(given)
    assert all(issue.message for issue in caught.value.issues)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_a_list_has_every_default() -> None:
    """Open issues of two weeks."""
    assert arguments.prepare_issues({}) == {
        "query": "is:unresolved",
        "project": None,
        "environment": None,
        "period": "14d",
        "sort": "last_seen",
        "limit": 20,
        "cursor": None,
        "page": None,
    }


def test_an_empty_search_is_a_search_for_everything() -> None:
    """And not the usual one."""
    assert arguments.prepare_issues({"query": " "})["query"] == ""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"project": "../x"}, ("/project", "format")),
        ({"project": "$all"}, ("/project", "format")),
        ({"project": "Checkout"}, ("/project", "format")),
        ({"environment": "a/b"}, ("/environment", "format")),
        ({"environment": "a\nb"}, ("/environment", "format")),
        ({"period": "0d"}, ("/period", "format")),
        ({"period": "14 days"}, ("/period", "format")),
        ({"query": "a\0"}, ("/query", "characters")),
        ({"query": "\ud800"}, ("/query", "characters")),
        ({"limit": 0}, ("/limit", "range")),
        ({"limit": 101}, ("/limit", "range")),
        ({"cursor": "x"}, ("/cursor", "cursor")),
    ],
)
def test_what_cannot_be_listed(given: dict[str, Any], wanted: tuple[str, str]) -> None:
    """One thing at a time."""
    assert issues(arguments.prepare_issues, given) == [wanted]


def test_a_cursor_is_of_one_search() -> None:
    """Policy has seen that one."""
    cursor = cursor_to("0:20:0", "list_issues", arguments.prepare_issues({"project": "a"}))
    assert arguments.prepare_issues({"project": "a", "cursor": cursor})["page"] == "0:20:0"
    assert issues(arguments.prepare_issues, {"project": "b", "cursor": cursor}) == [("/cursor", "other_list")]


@pytest.mark.parametrize(
    ("issue", "wanted"),
    [("4509877862268928", "4509877862268928"), ("checkout-api-1f", "CHECKOUT-API-1F"), ("A-1", "A-1")],
)
def test_an_issue_has_a_number_or_a_short_id(issue: str, wanted: str) -> None:
    """Short ids are in capitals."""
    assert arguments.prepare_issue({"issue": issue}) == {"issue": wanted}


@pytest.mark.parametrize("issue", ["", "..", "a", "1/2", "CHECKOUT_API", "-1F", "\u0661", "1" * 21, "A-1\n"])
def test_what_is_no_issue(issue: str) -> None:
    """It would be another place."""
    assert issues(arguments.prepare_issue, {"issue": issue}) == [("/issue", "format")]


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        (None, "latest"),
        ("Oldest", "oldest"),
        ("recommended", "recommended"),
        (EVENT.upper(), EVENT),
        ("9fac2cee-d934-4f2b-bfdd-1fdacb0ed9b1", EVENT),
    ],
)
def test_an_event_has_an_id_or_a_name(event: str | None, wanted: str) -> None:
    """With dashes or without."""
    given = {"issue": "1"} if event is None else {"issue": "1", "event": event}
    assert arguments.prepare_event(given) == {"issue": "1", "event": wanted}


def test_everything_wrong_with_an_event_is_told() -> None:
    """Not only the first."""
    assert issues(arguments.prepare_event, {"issue": "x", "event": "x"}) == [("/event", "format"), ("/issue", "format")]


def test_events_are_listed_by_page() -> None:
    """Of one issue."""
    assert arguments.prepare_events({"issue": "a-1", "limit": 5}) == {
        "issue": "A-1",
        "limit": 5,
        "cursor": None,
        "page": None,
    }


def test_a_comment_has_line_feeds() -> None:
    """And nothing around it."""
    assert arguments.prepare_comment({"issue": "1", "text": " a\r\nb\rc \n"}) == {"issue": "1", "text": "a\nb\nc"}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (" \r\n", "min_length"),
        ("x" * 10_001, "max_length"),
        ("a\0", "characters"),
        ("\udfff", "characters"),
        ("[//]: # (Tollhouse 00)", "reserved"),
    ],
)
def test_what_is_no_comment(text: str, rule: str) -> None:
    """Nothing, too much, what cannot be sent, or the mark of another comment."""
    assert issues(arguments.prepare_comment, {"issue": "1", "text": text}) == [("/text", rule)]
