"""What GitHub answers, read into what an agent gets."""

from typing import Any

import pytest
from fakes.cases.github import CHECK_RUN, file, issue, pull_request
from multidict import CIMultiDict

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.github import answers
from adapters.github.marks import with_mark
from adapters.transport.replies import Reply


def reply(value: Any = None) -> Reply:
    """A good answer to a write."""
    return Reply(status=200, headers=CIMultiDict(), value=value, happened=Happened.YES)


def test_an_issue_is_read_whole() -> None:
    """Small, and named for a model."""
    read = answers.whole_issue(reply(), issue(body=with_mark("Text.", "eff-1")))
    assert (read["number"], read["author"], read["labels"], read["assignees"]) == (7, "octocat", ["bug"], ["ann"])
    assert (read["milestone"], read["body"], read["kind"]) == ("v1.0", "Text.", "issue")


def test_the_first_issue_without_a_comment_is_one() -> None:
    """Nothing is not unknown."""
    read = answers.whole_issue(reply(), issue(1, comments=0))
    assert (read["number"], read["comments"]) == (1, 0)
    assert answers.sha_of(reply(), {"sha": "0" * 64}) == "0" * 64


def test_an_issue_of_a_deleted_account_has_no_author() -> None:
    """Whatever is odd is None, and a list without its odd parts."""
    odd = issue(
        user=None, labels=[None, "old", {"name": 7}], assignees=[{}, None], milestone=[], comments=-1, locked="x"
    )
    read = answers.whole_issue(reply(), odd)
    assert (read["author"], read["labels"], read["assignees"]) == (None, ["old"], [])
    assert (read["milestone"], read["comments"], read["is_locked"]) == (None, None, None)


def test_a_pull_request_among_issues_is_told() -> None:
    """GitHub counts it among them."""
    assert answers.found_issue(reply(), issue(pull_request={"url": "…"}))["kind"] == "pull_request"


def test_a_pull_request_is_read_whole() -> None:
    """Whether it can be merged may not be known yet."""
    read = answers.whole_pull_request(reply(), pull_request())
    assert (read["head_owner"], read["head_branch"], read["base_branch"]) == ("acme", "cart", "main")
    assert (read["requested_reviewers"], read["requested_teams"]) == (["ann"], ["web"])
    assert (read["is_mergeable"], read["mergeable_state"], read["changed_files"]) == (None, "unknown", 5)


def test_a_pull_request_that_was_merged_is_more_than_closed() -> None:
    """Which GitHub's own state does not tell."""
    merged = pull_request(state="closed", merged_at="2026-01-03T09:00:00Z")
    assert answers.found_pull_request(reply(), merged)["state"] == "merged"
    assert answers.found_pull_request(reply(), pull_request(state="closed"))["state"] == "closed"


def test_a_pull_request_of_a_deleted_fork_is_read() -> None:
    """Without whose branch it was."""
    read = answers.found_pull_request(
        reply(), pull_request(head={"ref": "cart", "user": None, "repo": None}, base=None)
    )
    assert (read["head_owner"], read["head_branch"], read["base_branch"]) == (None, "cart", None)


def test_a_check_run_is_read_with_what_it_says() -> None:
    """Cut where it says too much."""
    read = answers.check_run(reply(), {**CHECK_RUN, "output": {"title": "Bad", "summary": "x" * 5000}, "app": None})
    assert (read["name"], read["conclusion"], read["title"], read["app"]) == ("tests", "failure", "Bad", None)
    assert len(read["summary"]) == answers.MAX_SUMMARY


@pytest.mark.parametrize("number", [None, "7", True, 0, -1, 7.5])
def test_an_issue_without_a_number_is_malformed(number: Any) -> None:
    """What was done is not taken for undone."""
    with pytest.raises(AdapterError) as caught:
        answers.whole_issue(reply(), issue(number=7) | {"number": number})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.YES)


@pytest.mark.parametrize("item", [None, {}, {"sha": 7}, {"sha": ""}, {"sha": "a" * 39}, {"sha": "../" + "a" * 37}])
def test_an_object_without_its_id_is_malformed(item: Any) -> None:
    """It goes into a path later."""
    with pytest.raises(AdapterError):
        answers.sha_of(reply(), item)
    assert answers.sha_of(reply(), file()) == "d" * 40


@pytest.mark.parametrize("value", [None, {}, {"items": {}}, {"items": [1]}, {"items": None}, "text"])
def test_a_list_that_is_none_is_malformed(value: Any) -> None:
    """By its name."""
    with pytest.raises(AdapterError):
        answers.items_of(reply(value), "items")
    assert answers.items_of(reply({"items": [{}]}), "items") == [{}]
    assert answers.items_of(reply([{}])) == [{}]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.github.com/repos/Acme/Site", "acme/site"),
        ("https://ghe.example/api/v3/repos/acme/site", "acme/site"),
        ("https://api.github.com/repos/acme", None),
        ("https://api.github.com/repos/acme/site/issues", None),
        ("https://api.github.com/repos//site", None),
        (7, None),
    ],
)
def test_where_an_issue_is_stands_in_its_address(address: Any, name: str | None) -> None:
    """In lower case, as it is compared."""
    assert answers.repository_in({"repository_url": address}) == name


def test_an_address_that_is_none_of_the_web_is_none() -> None:
    """Nobody is led to a script."""
    assert answers.url("javascript:alert(1)") is None
    assert answers.url("https://github.com/acme") == "https://github.com/acme"
