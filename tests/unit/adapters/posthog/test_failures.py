"""What PostHog's answers mean when they are none."""

from typing import Any

import pytest

from adapters.base import ErrorKind, Happened
from adapters.posthog.failures import judge, judge_capture, query_status
from adapters.transport.replies import Reply


def _reply(value: Any, status: int = 200, happened: Happened = Happened.YES) -> Reply:
    return Reply(status=status, headers={}, value=value, happened=happened)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ErrorKind.INVALID),
        (401, ErrorKind.NEEDS_AUTHORISATION),
        (402, ErrorKind.FORBIDDEN),
        (403, ErrorKind.FORBIDDEN),
        (404, ErrorKind.NOT_FOUND),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.UNAVAILABLE),
        (503, ErrorKind.UNAVAILABLE),
        (504, ErrorKind.UNAVAILABLE),
        (512, ErrorKind.INVALID),
        (302, ErrorKind.MALFORMED),
    ],
)
def test_a_status_has_a_meaning(status: int, kind: ErrorKind) -> None:
    """512 is PostHog's own. What it says besides never comes through."""
    error = judge(_reply({"detail": "Quoting s3cret"}, status, Happened.NO))
    assert error is not None
    assert error.kind is kind
    assert "s3cret" not in error.message


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"error": True, "error_message": "Unknown event"}, ErrorKind.INVALID),
        ({"error": True, "error_message": None}, ErrorKind.UNAVAILABLE),
        ({"error": True}, ErrorKind.UNAVAILABLE),
    ],
)
def test_a_query_that_failed_is_told_inside_of_a_200(told: dict[str, Any], kind: ErrorKind) -> None:
    """Its message, if there is one, is for people who may change the query."""
    error = judge(_reply({"query_status": told}, happened=Happened.NO))
    assert error is not None
    assert error.kind is kind


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (None, {}),
        ([], {}),
        ({}, {}),
        ({"query_status": "x"}, {}),
        ({"query_status": {"error": False}}, {"error": False}),
    ],
)
def test_an_answer_without_a_failure_is_none(value: Any, status: Any) -> None:
    """Whatever shape it is of."""
    assert judge(_reply(value)) is None
    assert query_status(value) == status


@pytest.mark.parametrize("value", [{"status": 1}, {"status": "Ok"}, {"status": "ok", "quota_limited": []}])
def test_an_event_was_taken_when_posthog_says_so(value: Any) -> None:
    """In the words of its servers, old and new; or without any, by a 204."""
    assert judge_capture(_reply(value)) is None
    assert judge_capture(_reply(None, 204)) is None


@pytest.mark.parametrize("value", [None, [], {}, {"status": 0}, {"status": True}, {"status": None}, {"status": "no"}])
def test_g18_an_answer_that_does_not_say_so_is_no_success(value: Any) -> None:
    """Nobody knows then."""
    error = judge_capture(_reply(value))
    assert error is not None
    assert (error.kind, error.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)


@pytest.mark.parametrize("limited", [["recordings"], True, "events", {"events": True}])
def test_g18_a_quota_of_something_else_leaves_doubt(limited: Any) -> None:
    """The event may have been taken."""
    error = judge_capture(_reply({"status": 1, "quota_limited": limited}))
    assert error is not None
    assert (error.kind, error.happened) == (ErrorKind.MALFORMED, Happened.UNKNOWN)


def test_g18_results_beside_an_error_are_none() -> None:
    """An empty list there is not an answer to the question. A thing that has an `error` of its own is a thing."""
    error = judge(_reply({"results": [], "error": "Unable to resolve s3cret"}, happened=Happened.NO))
    assert error is not None
    assert error.kind is ErrorKind.INVALID
    assert "s3cret" not in error.message
    assert judge(_reply({"results": [], "error": None})) is None
    assert judge(_reply({"id": 7, "error": "x"})) is None


def test_an_event_over_the_quota_was_thrown_away() -> None:
    """Inside of a 200 that begins like a success."""
    error = judge_capture(_reply({"status": 1, "quota_limited": ["events"]}))
    assert error is not None
    assert (error.kind, error.happened) == (ErrorKind.FORBIDDEN, Happened.NO)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ErrorKind.INVALID),
        (401, ErrorKind.NEEDS_AUTHORISATION),
        (402, ErrorKind.FORBIDDEN),
        (413, ErrorKind.INVALID),
        (429, ErrorKind.RATE_LIMITED),
        (503, ErrorKind.UNAVAILABLE),
    ],
)
def test_a_status_of_an_event_has_a_meaning(status: int, kind: ErrorKind) -> None:
    """Of its own: a 401 is about the project's key."""
    error = judge_capture(_reply(None, status, Happened.NO))
    assert error is not None
    assert error.kind is kind
    assert status != 401 or "project_api_key" in error.message
