"""Google's errors."""

from typing import Any

import pytest

from adapters.base import ErrorKind, Happened
from adapters.calendar.failures import Gone, judge, pauses, reasons
from adapters.transport.api import Pause
from adapters.transport.replies import Reply


def refusal(status: int, reason: str = "", domain: str = "global", **more: Any) -> Reply:
    """An error as Google tells it."""
    entry = {"domain": domain, "reason": reason, "message": "s3cret words of a stranger", **more}
    value = {"error": {"errors": [entry], "code": status, "message": "s3cret words of a stranger"}}
    happened = Happened.UNKNOWN if status >= 500 else Happened.NO
    return Reply(status=status, headers={}, value=value, happened=happened)


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (403, "rateLimitExceeded", ErrorKind.RATE_LIMITED),
        (403, "userRateLimitExceeded", ErrorKind.RATE_LIMITED),
        (403, "quotaExceeded", ErrorKind.RATE_LIMITED),
        (403, "dailyLimitExceeded", ErrorKind.RATE_LIMITED),
        (429, "rateLimitExceeded", ErrorKind.RATE_LIMITED),
        (403, "forbidden", ErrorKind.FORBIDDEN),
        (403, "forbiddenForNonOrganizer", ErrorKind.FORBIDDEN),
        (403, "requiredAccessLevel", ErrorKind.FORBIDDEN),
        (403, "accessNotConfigured", ErrorKind.FORBIDDEN),
        (403, "insufficientPermissions", ErrorKind.NEEDS_AUTHORISATION),
        (401, "authError", ErrorKind.NEEDS_AUTHORISATION),
        (400, "timeRangeEmpty", ErrorKind.INVALID),
        (400, "required", ErrorKind.INVALID),
        (404, "notFound", ErrorKind.NOT_FOUND),
        (409, "duplicate", ErrorKind.CONFLICT),
        (410, "deleted", ErrorKind.NOT_FOUND),
        (410, "updatedMinTooLongAgo", ErrorKind.NOT_FOUND),
        (412, "conditionNotMet", ErrorKind.CONFLICT),
        (500, "backendError", ErrorKind.UNAVAILABLE),
        (503, "rateLimitExceeded", ErrorKind.UNAVAILABLE),
    ],
)
def test_a_reason_is_a_kind(status: int, reason: str, kind: ErrorKind) -> None:
    """In our own words."""
    error = judge(refusal(status, reason))
    assert error is not None
    assert error.kind is kind
    assert "s3cret" not in f"{error.message} {error}"
    assert error.happened is (Happened.UNKNOWN if status >= 500 else Happened.NO)


def test_what_is_well_is_no_error() -> None:
    """Whatever it says."""
    assert judge(Reply(status=200, headers={}, value={"error": {"code": 403}}, happened=Happened.YES)) is None


def test_only_a_deleted_event_is_gone() -> None:
    """Not one that cannot be found."""
    assert isinstance(judge(refusal(410, "deleted")), Gone)
    assert not isinstance(judge(refusal(410, "fullSyncRequired")), Gone)
    assert not isinstance(judge(refusal(404, "notFound")), Gone)


def test_a_cursor_that_is_too_old_is_told_as_one() -> None:
    """The agent can begin again."""
    error = judge(refusal(400, "invalid", locationType="parameter", location="pageToken"))
    assert error is not None
    assert (error.kind, "cursor" in error.message) == (ErrorKind.INVALID, True)


def test_the_newer_form_of_errors_is_read_too() -> None:
    """With its reasons in details."""
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]
    value = {"error": {"code": 403, "status": "PERMISSION_DENIED", "details": details}}
    error = judge(Reply(status=403, headers={}, value=value, happened=Happened.NO))
    assert error is not None
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION


@pytest.mark.parametrize(
    "value", [None, [], "x", {"error": "invalid_grant"}, {"error": {"errors": "x", "details": [5]}}]
)
def test_whatever_comes_has_no_reasons(value: Any) -> None:
    """The status is enough then."""
    told = Reply(status=403, headers={}, value=value, happened=Happened.NO)
    assert reasons(told) == []
    error = judge(told)
    assert error is not None
    assert error.kind is ErrorKind.FORBIDDEN


def test_a_limit_that_comes_as_403_is_a_pause() -> None:
    """For as long as Google says; a refusal is none."""
    limit = refusal(403, "rateLimitExceeded", "usageLimits")
    told = Reply(status=403, headers={}, value=limit.value, happened=Happened.NO, retry_after_seconds=30.0)
    assert list(pauses(told, 0.0)) == [Pause(seconds=30.0)]
    assert list(pauses(limit, 0.0)) == []
    refused = Reply(
        status=403, headers={}, value=refusal(403, "forbidden").value, happened=Happened.NO, retry_after_seconds=30.0
    )
    assert list(pauses(refused, 0.0)) == []
