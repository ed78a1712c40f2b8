"""What an agent sends, and the form in which it goes on."""

from typing import Any

import pytest
from fakes.cases.linear import LABEL, PERSON, PROJECT, STATE, TEAM

from adapters.base import ArgumentProblem
from adapters.linear import arguments
from adapters.transport.cursors import cursor_to


def _rules(prepare: Any, given: dict[str, Any]) -> set[tuple[str, str]]:
    with pytest.raises(ArgumentProblem) as caught:
        prepare(given)
    return {(issue.path, issue.rule) for issue in caught.value.issues}


def test_a_search_is_a_filter_of_everything_that_was_given() -> None:
    """Every word has to be in the title or the description."""
    given = {
        "text": "charged  twice",
        "team_id": TEAM,
        "assignee_id": PERSON,
        "project_id": PROJECT,
        "label_id": LABEL,
        "state_types": ["started", "backlog", "started"],
        "updated_after": "2026-01-01T00:00:00Z",
    }
    prepared = arguments.prepare_search_issues(given)
    assert (prepared["limit"], prepared["page"], prepared["state_types"]) == (20, None, ["backlog", "started"])
    found = arguments.filter_of(prepared)
    assert found == {
        "and": [
            {"or": [{"title": {"containsIgnoreCase": word}}, {"description": {"containsIgnoreCase": word}}]}
            for word in ("charged", "twice")
        ],
        "team": {"id": {"eq": TEAM}},
        "assignee": {"id": {"eq": PERSON}},
        "project": {"id": {"eq": PROJECT}},
        "labels": {"some": {"id": {"eq": LABEL}}},
        "state": {"type": {"in": ["backlog", "started"]}},
        "updatedAt": {"gt": "2026-01-01T00:00:00.000+00:00"},
    }


def test_a_search_for_nothing_is_no_filter() -> None:
    """Any issue will do."""
    assert arguments.filter_of(arguments.prepare_search_issues({})) is None


def test_a_search_has_eight_words_at_most() -> None:
    """Each is a condition at Linear."""
    assert _rules(arguments.prepare_search_issues, {"text": "a b c d e f g h i"}) == {("/text", "words")}


def test_a_list_goes_on_by_its_cursor() -> None:
    """Of the same team; another's is refused."""
    first = arguments.prepare_list_cycles({"team_id": TEAM})
    cursor = cursor_to("c2", "list_cycles", first)
    assert arguments.prepare_list_cycles({"team_id": TEAM, "cursor": cursor})["page"] == "c2"
    assert _rules(arguments.prepare_list_cycles, {"cursor": cursor}) == {("/cursor", "other_list")}
    assert _rules(arguments.prepare_list_projects, {"team_id": TEAM, "cursor": cursor}) == {("/cursor", "other_list")}
    assert arguments.prepare_list_teams({"limit": 5})["limit"] == 5


def test_an_issue_has_everything_that_policy_may_judge() -> None:
    """What was not given is null."""
    prepared = arguments.prepare_create_issue({"team_id": TEAM, "title": " Broken ", "parent": "eng-1"})
    assert (prepared["title"], prepared["parent"], prepared["label_ids"]) == ("Broken", "ENG-1", [])
    assert {name for name, value in prepared.items() if value is None} == {
        "description",
        "priority",
        "state_id",
        "assignee_id",
        "project_id",
        "cycle_id",
        "due_date",
    }


def test_every_issue_with_an_issue_is_told() -> None:
    """And not only the first."""
    given = {"team_id": "x", "title": "\n", "due_date": "soon", "label_ids": ["y"]}
    paths = {path for path, _ in _rules(arguments.prepare_create_issue, given)}
    assert paths == {"/team_id", "/title", "/due_date", "/label_ids/0"}


@pytest.mark.parametrize(
    ("given", "issue"),
    [
        ({}, ("/issue", "change")),
        ({"clear": [], "add_label_ids": []}, ("/issue", "change")),
        ({"due_date": "2026-01-01", "clear": ["due_date"]}, ("/clear/0", "set_and_clear")),
        ({"add_label_ids": [LABEL], "remove_label_ids": [LABEL]}, ("/remove_label_ids", "add_and_remove")),
    ],
)
def test_a_change_changes_something_and_one_thing_one_way(given: dict[str, Any], issue: tuple[str, str]) -> None:
    """Else it is refused."""
    assert _rules(arguments.prepare_update_issue, {"issue": "ENG-1", **given}) == {issue}


@pytest.mark.parametrize("given", [{"priority": 0}, {"clear": ["cycle_id"]}, {"state_id": STATE}])
def test_one_thing_is_a_change(given: dict[str, Any]) -> None:
    """The priority none as well."""
    assert arguments.prepare_update_issue({"issue": "ENG-1", **given})["issue"] == "ENG-1"


def test_a_comment_and_a_reading_name_their_issue() -> None:
    """By its id or its identifier."""
    assert arguments.prepare_comment_on_issue({"issue": "eng-1", "body": "a\r\n"}) == {"issue": "ENG-1", "body": "a\n"}
    assert arguments.prepare_get_issue({"issue": TEAM}) == {"issue": TEAM}
