"""GitHub's events name people, places and things as the tools take them."""

import pytest
from fakes.deliveries import GITHUB, Sample, changed

from adapters.github.events import ACTIONS, KINDS, PARTS, read_event
from adapters.github.marks import with_mark
from adapters.webhooks import DeliveryRefused, Event

SHA = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"


def told(kind: str, sample: Sample | None = None) -> Event:
    """The event of a sample."""
    found = sample or GITHUB[kind]
    return read_event(found.payload, found.headers["x-github-event"], kind, "digest")


def test_an_issue_is_told_with_its_text() -> None:
    """And with the label or the person that was added."""
    event = told("issue.labeled")
    assert (event.id, event.subject, event.occurred_at) == ("digest", "acme/shop#12", 1779999999.0)
    assert event.data == {
        "installation": 77,
        "repository": "acme/shop",
        "number": 12,
        "sender": "ann",
        "title": "The basket forgets",
        "state": "open",
        "author": "ann",
        "labels": ["bug"],
        "assignees": ["bob"],
        "body": "It forgets everything after a minute.",
        "url": "https://github.com/Acme/Shop/issues/12",
        "state_reason": None,
        "label": "bug",
        "assignee": "bob",
        "cut": [],
    }


def test_a_text_is_told_without_our_mark() -> None:
    """As people read it."""
    body = with_mark("Mine.", "an effect")
    assert told("issue.opened", changed(GITHUB["issue.opened"], "issue", "body", to=body)).data["body"] == "Mine."


def test_a_pull_request_is_told_with_its_branches() -> None:
    """And whom somebody asked for a review."""
    data = told("pull_request.review_requested").data
    assert (data["head_owner"], data["head_branch"], data["base_branch"]) == ("ann", "remember", "main")
    assert (data["head_sha"], data["is_draft"], data["is_merged"]) == (SHA, False, False)
    assert (data["requested_reviewer"], data["requested_reviewers"], data["requested_teams"]) == (
        "bob",
        ["bob"],
        ["payments"],
    )


def test_a_comment_tells_what_it_is_on() -> None:
    """On an issue, or on a pull request, which has a part of that name."""
    assert told("issue_comment.created").data["is_pull_request"] is False
    on_pull = changed(GITHUB["issue_comment.created"], "issue", "pull_request", to={"url": "https://x"})
    data = told("issue_comment.created", on_pull).data
    assert (data["is_pull_request"], data["body"], data["author"], data["id"]) == (True, "I see it too.", "bob", 501)


def test_a_review_tells_what_was_decided() -> None:
    """In lower case, as the API says it elsewhere too."""
    data = told("pull_request_review.submitted").data
    assert (data["state"], data["commit"], data["author"]) == ("changes_requested", SHA, "bob")
    line = told("pull_request_review_comment.created").data
    assert (line["path"], line["line"], line["body"]) == ("shop/basket.py", 7, "I see it too.")


def test_a_push_tells_its_commits_without_addresses() -> None:
    """By the repository, for a branch is no subject of a tool alone."""
    event = told("push")
    assert event.subject == "acme/shop"
    assert event.data == {
        "installation": 77,
        "repository": "acme/shop",
        "sender": "ann",
        "ref": "refs/heads/main",
        "before": SHA,
        "after": SHA[::-1],
        "is_created": False,
        "is_deleted": False,
        "is_forced": True,
        "commits": [{"id": SHA, "message": "Remember the basket", "author": "ann"}],
        "url": "https://github.com/Acme/Shop/compare/0a1b...7654",
        "cut": [],
    }


def test_a_run_tells_how_it_ended() -> None:
    """And where to look."""
    check, workflow = told("check_run.completed").data, told("workflow_run.completed").data
    assert (check["name"], check["conclusion"], check["app"], check["pull_requests"]) == (
        "tests",
        "failure",
        "ci",
        [12],
    )
    assert (check["branch"], check["title"], check["summary"]) == ("remember", "2 failed", "test_basket, test_minute")
    assert (workflow["branch"], workflow["event"], workflow["attempt"]) == ("remember", "push", 2)


def test_a_release_tells_its_tag() -> None:
    """And its notes."""
    data = told("release.published").data
    assert (data["tag"], data["name"], data["body"]) == ("v1.2.0", "Spring", "Baskets remember.")


@pytest.mark.parametrize("name", [None, 5, "", "acme", "acme/shop/x", "acme/sh op", "../x", "a/b\n", "ac\u212ae/shop"])
def test_without_its_repository_an_event_is_malformed(name: object) -> None:
    """Nor is anything in its place taken, look-alike letters that turn to ASCII in lower case among it."""
    with pytest.raises(DeliveryRefused):
        told("push", changed(GITHUB["push"], "repository", "full_name", to=name))


@pytest.mark.parametrize("number", [None, 0, -1, "12", 12.0, True, 2**60])
def test_without_its_number_an_issue_is_malformed(number: object) -> None:
    """It is what it happened to."""
    with pytest.raises(DeliveryRefused):
        told("issue.opened", changed(GITHUB["issue.opened"], "issue", "number", to=number))


def test_no_two_events_have_the_same_parts() -> None:
    """Or one could be taken for the other. Each part's event has its actions, and each kind comes of one action."""
    assert len(set(PARTS.values())) == len(PARTS)
    assert PARTS.keys() == ACTIONS.keys()
    assert len(set(KINDS)) == len(KINDS) == 32
