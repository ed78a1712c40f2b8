"""Sentry's JSON is read as far as it goes, and without the people whom an error happened to."""

import json
from typing import Any

import pytest
from fakes.cases.sentry import COMMENT, EVENT, EVENT_ID, ISSUE

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.sentry import answers
from adapters.transport.replies import Reply


def reply(value: Any, happened: Happened = Happened.NO) -> Reply:
    """An answer with 200."""
    return Reply(status=200, headers={}, value=value, happened=happened)


def test_an_issue_is_told_with_numbers() -> None:
    """Sentry writes how often as a string."""
    (found,) = answers.issues(reply([ISSUE]))
    assert found == {
        "id": "4509877862268928",
        "short_id": "CHECKOUT-API-1F",
        "title": "ZeroDivisionError: division by zero",
        "culprit": "checkout.totals in split",
        "level": "error",
        "status": "unresolved",
        "project": "checkout-api",
        "events": 150,
        "users": 12,
        "first_seen": "2025-12-06T21:19:55Z",
        "last_seen": "2025-12-31T12:38:00Z",
        "url": "https://acme.sentry.io/issues/4509877862268928/",
    }


def test_one_issue_has_more_of_it() -> None:
    """The name of who has it, and not the mail address."""
    found = answers.issue(reply(ISSUE))
    assert (found["assigned_to"], found["first_release"], found["last_release"]) == (
        "Ann Example",
        "checkout@1.4.0",
        None,
    )
    assert (found["platform"], found["comments"]) == ("python", 1)
    assert "ann@corp.example" not in json.dumps(found)


def test_an_event_is_told_without_people_and_variables() -> None:
    """Not their address, their cookies, or what stood in a variable."""
    found = answers.event(reply(EVENT))
    assert found == {
        "id": EVENT_ID,
        "title": "ZeroDivisionError: division by zero",
        "message": None,
        "culprit": "checkout.totals in split",
        "platform": "python",
        "occurred_at": "2025-12-31T12:38:00Z",
        "issue": "4509877862268928",
        "level": "error",
        "environment": "production",
        "release": "checkout@1.4.2",
        "tags": [
            {"key": "level", "value": "error"},
            {"key": "environment", "value": "production"},
            {"key": "release", "value": "checkout@1.4.2"},
        ],
        "exceptions": [
            {
                "type": "ZeroDivisionError",
                "value": "division by zero",
                "frames": [
                    {"file": "wsgi.py", "line": 12, "function": "call", "in_app": False},
                    {"file": "checkout/totals.py", "line": 41, "function": "split", "in_app": True},
                ],
            }
        ],
        "previous_event": None,
        "next_event": "1234567890abcdef1234567890abcdef",
    }
    assert not [word for word in ("customer", "198.51", "s3cr3t", "4111") if word in json.dumps(found)]


def test_long_traces_are_cut_to_what_is_innermost() -> None:
    """Twenty frames of five exceptions, and fifty tags."""
    frames = [{"filename": f"{n}.py"} for n in range(60)]
    values = [{"type": f"E{n}", "stacktrace": {"frames": frames}} for n in range(9)]
    tags = [{"key": f"k{n}", "value": "x"} for n in range(90)]
    entries = [{"type": "exception", "data": {"values": values}}]
    found = answers.event(reply({"eventID": EVENT_ID, "entries": entries, "tags": tags}))
    assert [one["type"] for one in found["exceptions"]] == ["E4", "E5", "E6", "E7", "E8"]
    assert (len(found["exceptions"][0]["frames"]), found["exceptions"][0]["frames"][-1]["file"]) == (20, "59.py")
    assert len(found["tags"]) == 50


@pytest.mark.parametrize(
    "entries", [None, "x", [None], [{"type": "exception"}], [{"type": "exception", "data": {"values": [7]}}]]
)
def test_odd_entries_are_no_exceptions(entries: Any) -> None:
    """And nothing breaks on them."""
    assert answers.event(reply({"eventID": "a", "entries": entries}))["exceptions"] == []


def test_items_that_are_none_are_left_out() -> None:
    """One odd item does not cost the others, and a page has a hundred at most."""
    found = answers.issues(
        reply([None, 7, {}, {"id": 5}, {"id": "1", "count": True, "project": "x", "title": "t" * 5000}])
    )
    assert [one["id"] for one in found] == ["1"]
    assert (found[0]["events"], found[0]["project"], len(found[0]["title"])) == (None, None, 1000)
    assert len(answers.events(reply([{"eventID": "a"}] * 150))) == 100


@pytest.mark.parametrize("read", [answers.issues, answers.events])
@pytest.mark.parametrize("value", [None, {}, "x", {"detail": "x"}])
def test_a_list_that_is_none_is_malformed(read: Any, value: Any) -> None:
    """It is not taken for an empty one."""
    with pytest.raises(AdapterError) as caught:
        read(reply(value))
    assert caught.value.kind is ErrorKind.MALFORMED


@pytest.mark.parametrize("read", [answers.issue, answers.event, answers.state, answers.comment])
@pytest.mark.parametrize("value", [None, [], {}, {"id": 7, "eventID": None}])
def test_what_has_no_id_is_malformed_and_a_change_happened(read: Any, value: Any) -> None:
    """Whoever answers so has done it."""
    with pytest.raises(AdapterError) as caught:
        read(reply(value, Happened.YES))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.YES)


def test_the_state_of_an_issue() -> None:
    """Its name and its status."""
    assert answers.state(reply(ISSUE)) == {
        "issue": "4509877862268928",
        "short_id": "CHECKOUT-API-1F",
        "status": "unresolved",
    }


def test_a_comment_has_an_id() -> None:
    """By which people find it."""
    assert answers.comment(reply(COMMENT)) == "5566"
