"""From what an agent sends to what policy judges."""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.github import preparation as ready
from adapters.github.places import MAX_PAGE
from adapters.transport.cursors import cursor_to

PLACE = {"owner": "Acme", "repository": "Site"}
PREPARED = {"owner": "acme", "repository": "site", "full_name": "acme/site"}

Prepare = Callable[[dict[str, Any]], dict[str, Any]]


def wrong(prepare: Prepare, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the arguments are wrong, and by which rule."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare(arguments)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_a_search_has_every_word_and_every_owner() -> None:
    """And says what was left out."""
    prepared = ready.prepare_search({"repositories": ["Acme/Site", "acme/site", "bob/x"], "text": "  cart\t lost \n"})
    assert prepared == {
        "repositories": ["acme/site", "bob/x"],
        "owners": ["acme", "bob"],
        "text": "cart lost",
        "kind": "issue",
        "state": "open",
        "labels": [],
        "page_size": 20,
        "cursor": None,
        "page": None,
    }


@pytest.mark.parametrize("text", ['x" repo:evil/x "', "a\\", "a\0b", "a\u202eb", "x" * 201])
def test_a_search_text_that_could_leave_its_quotation_is_refused(text: str) -> None:
    """Everything else is a word, whatever it looks like."""
    assert wrong(ready.prepare_search, {"repositories": ["acme/site"], "text": text}) == [("/text", "search_text")]
    ready.prepare_search({"repositories": ["acme/site"], "text": "repo:evil/x OR (user:evil) -label:bug NOT is:open"})


def test_a_search_is_of_named_repositories() -> None:
    """One at least, five at most."""
    assert wrong(ready.prepare_search, {"repositories": []}) == [("/repositories", "count")]
    six = [f"acme/r{number}" for number in range(6)]
    assert wrong(ready.prepare_search, {"repositories": six}) == [("/repositories", "count")]
    assert wrong(ready.prepare_search, {"repositories": ["acme/site user:x"]}) == [("/repositories/0", "repository")]


def test_everything_wrong_is_told_at_once() -> None:
    """Each with its place."""
    arguments = {"owner": "a--b", "repository": "..", "number": 0, "body": " "}
    assert wrong(ready.prepare_comment, arguments) == [
        ("/body", "empty"),
        ("/owner", "owner"),
        ("/repository", "repository"),
        ("/number", "range"),
    ]


def test_an_issue_says_whom_it_tells() -> None:
    """What is left out is None or empty."""
    assert ready.prepare_issue({**PLACE, "title": " Hi @Ann "}) == {
        **PREPARED,
        "title": "Hi @Ann",
        "body": None,
        "mentions": ["ann"],
        "labels": [],
        "assignees": [],
    }
    assert ready.prepare_comment({**PLACE, "number": 7, "body": "a\r\nb"})["body"] == "a\nb"


def test_a_number_is_in_a_repository() -> None:
    """In lower case."""
    assert ready.prepare_number({**PLACE, "number": 7}) == {**PREPARED, "number": 7}
    assert wrong(ready.prepare_number, {**PLACE, "number": 2**31}) == [("/number", "range")]


def test_a_pull_request_says_whose_branch_it_brings() -> None:
    """The repository's own, or a fork's."""
    arguments = {**PLACE, "title": "Keep", "head": "Cart", "base": "main"}
    own, fork = ready.prepare_pull_request(arguments), ready.prepare_pull_request({**arguments, "head": "Bob:main"})
    assert (own["head_owner"], own["head_branch"], own["base"], own["is_draft"]) == ("acme", "Cart", "main", False)
    assert (fork["head_owner"], fork["head_branch"]) == ("bob", "main")
    assert wrong(ready.prepare_pull_request, {**arguments, "head": "acme:main"}) == [("/head", "same")]
    assert wrong(ready.prepare_pull_request, {**arguments, "head": "a:b:c"}) == [("/head", "ref")]


def test_a_list_of_pull_requests_is_of_all_or_of_a_branch() -> None:
    """Which policy sees."""
    every = ready.prepare_pull_requests(PLACE)
    assert (every["head_owner"], every["head_branch"], every["base"], every["state"]) == (None, None, None, "open")
    assert ready.prepare_pull_requests({**PLACE, "head": "bob:x"})["head_owner"] == "bob"


def test_a_file_has_a_size_that_is_enough() -> None:
    """And no more than anybody may have."""
    prepared = ready.prepare_file({**PLACE, "path": "docs/A.md"})
    assert prepared == {**PREPARED, "path": "docs/A.md", "ref": None, "max_bytes": 200_000}
    assert wrong(ready.prepare_file, {**PLACE, "path": "../x", "ref": "a..b", "max_bytes": 0}) == [
        ("/max_bytes", "range"),
        ("/path", "path"),
        ("/ref", "ref"),
    ]


def test_a_review_is_asked_of_somebody() -> None:
    """A person or a team."""
    assert wrong(ready.prepare_review, {**PLACE, "number": 7}) == [("/reviewers", "count")]
    prepared = ready.prepare_review({**PLACE, "number": 7, "team_reviewers": ["Web"]})
    assert (prepared["reviewers"], prepared["team_reviewers"]) == ([], ["web"])


def test_checks_are_of_a_ref() -> None:
    """Narrowed down or not."""
    prepared = ready.prepare_check_runs({**PLACE, "ref": "main", "name": "tests"})
    assert (prepared["ref"], prepared["name"], prepared["status"], prepared["page"]) == ("main", "tests", None, None)
    assert wrong(ready.prepare_check_runs, {**PLACE, "ref": "main", "name": "a\nb"}) == [("/name", "line")]


def test_a_page_has_a_size() -> None:
    """From 1 to 100."""
    for size in (0, 101):
        assert wrong(ready.prepare_pull_requests, {**PLACE, "page_size": size}) == [("/page_size", "range")]


@pytest.mark.parametrize(
    ("prepare", "arguments"),
    [
        (ready.prepare_search, {"repositories": [f"acme/r{number}" for number in range(5)], "text": "x" * 200}),
        (ready.prepare_file, {**PLACE, "path": "a", "max_bytes": 1}),
        (ready.prepare_file, {**PLACE, "path": "a", "max_bytes": 1_000_000}),
        (ready.prepare_number, {**PLACE, "number": 1}),
        (ready.prepare_number, {**PLACE, "number": 2**31 - 1}),
        (ready.prepare_pull_requests, {**PLACE, "page_size": 1}),
        (ready.prepare_pull_requests, {**PLACE, "page_size": 100}),
    ],
)
def test_what_is_just_within_its_bounds_is_taken(prepare: Prepare, arguments: dict[str, Any]) -> None:
    """As the rows say."""
    assert prepare(arguments)


@pytest.mark.parametrize("page", [0, 1, 1001, "2"])
def test_a_cursor_to_no_page_of_ours_is_refused(page: int | str) -> None:
    """Also when somebody made it up for the right list."""
    first = ready.prepare_pull_requests(PLACE)
    cursor = cursor_to(page, "list_pull_requests", first)
    assert wrong(ready.prepare_pull_requests, {**PLACE, "cursor": cursor}) == [("/cursor", "cursor")]
    good = cursor_to(2, "list_pull_requests", first)
    assert ready.prepare_pull_requests({**PLACE, "cursor": good})["page"] == 2
    last = cursor_to(MAX_PAGE, "list_pull_requests", first)
    assert ready.prepare_pull_requests({**PLACE, "cursor": last})["page"] == 1000
    assert wrong(ready.prepare_pull_requests, {**PLACE, "state": "all", "cursor": good}) == [("/cursor", "other_list")]
