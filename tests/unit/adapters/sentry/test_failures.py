"""Sentry's errors, each with what an agent can do about it."""

from collections.abc import Mapping
from typing import Any

import pytest
from fakes.clock import FakeClock

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.sentry.failures import Judge
from adapters.transport.replies import Reply

NO, UNKNOWN, YES = Happened.NO, Happened.UNKNOWN, Happened.YES


def judged(status: int, value: Any = None, *, headers: Mapping[str, str] | None = None, happened: Happened = NO) -> Any:
    """What an answer is, at 1000 seconds since the epoch."""
    return Judge(FakeClock(now=1000.0))(Reply(status=status, headers=headers or {}, value=value, happened=happened))


def error_of(status: int, value: Any = None, **more: Any) -> AdapterError:
    """The error that it is."""
    error = judged(status, value, **more)
    assert isinstance(error, AdapterError)
    assert len(error.message) <= 300
    return error


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ErrorKind.INVALID),
        (401, ErrorKind.NEEDS_AUTHORISATION),
        (403, ErrorKind.FORBIDDEN),
        (404, ErrorKind.NOT_FOUND),
        (409, ErrorKind.CONFLICT),
        (410, ErrorKind.INVALID),
        (413, ErrorKind.INVALID),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.UNAVAILABLE),
        (503, ErrorKind.UNAVAILABLE),
    ],
)
def test_a_status_has_a_kind(status: int, kind: ErrorKind) -> None:
    """And what Sentry says does not come through."""
    error = error_of(status, {"detail": "Something that a stranger wrote"})
    assert error.kind is kind
    assert "stranger" not in error.message


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "sso-required", ErrorKind.NEEDS_AUTHORISATION),
        (403, "member-disabled-over-limit", ErrorKind.FORBIDDEN),
        (302, "resource-moved", ErrorKind.NOT_FOUND),
    ],
)
def test_a_code_says_more_than_its_status(status: int, code: str, kind: ErrorKind) -> None:
    """Nothing was done then."""
    error = error_of(status, {"detail": {"code": code, "message": "x", "extra": {}}}, happened=UNKNOWN)
    assert (error.kind, error.happened) == (kind, NO)
    assert error.message != error_of(status).message


def test_a_comment_that_is_there_already_was_made() -> None:
    """Sentry refuses the same comment for an hour, and ours are all different."""
    for said in (
        '{"detail": "You have already posted that comment."}',
        {"detail": "You have already posted that comment."},
    ):
        error = error_of(400, said)  # Sentry puts the object into a text
        assert (error.kind, error.happened) == (ErrorKind.CONFLICT, YES)


def test_words_of_an_agent_that_come_back_mean_nothing() -> None:
    """A search that cannot be read is quoted."""
    error = error_of(400, {"detail": 'Error parsing "You have already posted that comment."'})
    assert (error.kind, error.happened) == (ErrorKind.INVALID, NO)


def test_what_broke_is_no_refusal_whatever_it_says() -> None:
    """Nobody knows what was done."""
    error = error_of(502, {"detail": {"code": "sso-required"}}, happened=UNKNOWN)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, UNKNOWN)


@pytest.mark.parametrize("detail", [None, 7, [], "", {"code": 7}, {"code": "new"}])
def test_a_detail_of_another_shape_changes_nothing(detail: Any) -> None:
    """The status stands."""
    assert error_of(400, {"detail": detail}).kind is ErrorKind.INVALID
    assert error_of(400, detail).kind is ErrorKind.INVALID


def test_a_limit_without_a_wait_has_that_of_its_window() -> None:
    """Sentry sends no `Retry-After`."""
    headers = {"X-Sentry-Rate-Limit-Remaining": "0", "X-Sentry-Rate-Limit-Reset": "1007"}
    assert error_of(429, headers=headers).retry_after_seconds == 7.0
    assert error_of(429).retry_after_seconds is None


@pytest.mark.parametrize("value", [None, [], "x", 7])
def test_a_change_that_is_answered_by_nothing_proves_nothing(value: Any) -> None:
    """A read may be answered by anything; its reader says what is wrong with it."""
    error = error_of(200, value, happened=YES)
    assert (error.kind, error.happened) == (ErrorKind.MALFORMED, UNKNOWN)
    assert judged(200, value) is None


def test_an_answer_is_an_answer() -> None:
    """To a change, an object."""
    assert judged(201, {"id": "1"}, happened=YES) is None
    assert judged(200, [{}]) is None
