"""What Linear's answers mean when they are none."""

from typing import Any

import pytest
from fakes.vendor import NOW

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.linear.failures import errors_of, judge
from adapters.transport.replies import Reply


def _judged(
    value: Any, *, status: int = 200, happened: Happened = Happened.YES, headers: dict[str, str] | None = None
) -> AdapterError | None:
    return judge(Reply(status=status, headers=headers or {}, value=value, happened=happened), NOW)


def _error(**extensions: Any) -> dict[str, Any]:
    return {"data": None, "errors": [{"message": "No", "extensions": extensions}]}


@pytest.mark.parametrize(
    ("extensions", "kind", "happened"),
    [
        ({"code": "RATELIMITED"}, ErrorKind.RATE_LIMITED, Happened.NO),
        ({"type": "ratelimited"}, ErrorKind.RATE_LIMITED, Happened.NO),
        ({"code": "AUTHENTICATION_ERROR"}, ErrorKind.NEEDS_AUTHORISATION, Happened.NO),
        ({"type": "authentication error"}, ErrorKind.NEEDS_AUTHORISATION, Happened.NO),
        ({"code": "FORBIDDEN"}, ErrorKind.FORBIDDEN, Happened.NO),
        ({"type": "feature not accessible"}, ErrorKind.FORBIDDEN, Happened.NO),
        ({"code": "USAGE_LIMIT_EXCEEDED"}, ErrorKind.FORBIDDEN, Happened.NO),
        ({"code": "INPUT_ERROR"}, ErrorKind.INVALID, Happened.NO),
        ({"type": "invalid input"}, ErrorKind.INVALID, Happened.NO),
        ({"code": "GRAPHQL_VALIDATION_FAILED"}, ErrorKind.INVALID, Happened.NO),
        ({"code": "ENTITY_NOT_FOUND"}, ErrorKind.NOT_FOUND, Happened.NO),
        ({"code": "INTERNAL_SERVER_ERROR"}, ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        ({"type": "lock timeout"}, ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        ({"code": "WHAT_IS_THIS"}, ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
        ({"code": 7, "type": None}, ErrorKind.UNAVAILABLE, Happened.UNKNOWN),
    ],
)
def test_an_error_in_a_200_is_known_by_its_code_or_its_type(
    extensions: dict[str, Any], kind: ErrorKind, happened: Happened
) -> None:
    """What certainly did nothing says so."""
    error = _judged(_error(**extensions))
    assert error is not None
    assert (error.kind, error.happened) == (kind, happened)


@pytest.mark.parametrize(
    ("message", "presentable", "kind"),
    [
        ("Entity not found: Issue", "Could not find referenced Issue.", ErrorKind.NOT_FOUND),
        ("Argument Validation Error", "Could not find referenced Team.", ErrorKind.NOT_FOUND),
        ("An issue with this id already exists", None, ErrorKind.CONFLICT),
        ("Argument Validation Error", None, ErrorKind.INVALID),
    ],
)
def test_an_input_error_is_told_apart_by_its_text(message: str, presentable: str | None, kind: ErrorKind) -> None:
    """Linear has one code for three things. The text itself never comes through."""
    told = {"code": "INPUT_ERROR", "userPresentableMessage": presentable}
    error = _judged({"errors": [{"message": message, "extensions": told}]})
    assert error is not None
    assert error.kind is kind
    assert message not in error.message


def test_data_beside_an_error_says_that_a_write_was_done() -> None:
    """Of a read it says nothing."""
    value = {"data": {"issueUpdate": {"success": True}}, **_error(code="FORBIDDEN"), "x": 1}
    value["data"] = {"issueUpdate": {"success": True}}
    write, read = _judged(value), _judged(value, happened=Happened.NO)
    assert write is not None
    assert read is not None
    assert (write.happened, read.happened) == (Happened.YES, Happened.NO)


@pytest.mark.parametrize(
    ("payload", "happened"),
    [
        (None, Happened.NO),
        ({"success": False}, Happened.NO),
        ({"success": False, "issue": None}, Happened.NO),
        ({"success": True, "issue": None}, Happened.YES),
        ({"issue": {"id": "x"}}, Happened.YES),
        ({"success": False, "issue": {"id": "x"}}, Happened.UNKNOWN),
        ({"issue": None}, Happened.UNKNOWN),
        ("yes", Happened.UNKNOWN),
    ],
)
def test_what_stands_beside_an_error_says_what_happened(payload: Any, happened: Happened) -> None:
    """A mutation that says itself that it did nothing did nothing; what says neither leaves doubt."""
    error = _judged({**_error(code="INPUT_ERROR"), "data": {"issueCreate": payload}})
    assert error is not None
    assert error.happened is happened


@pytest.mark.parametrize("code", ["ENTITY_NOT_FOUND", "FORBIDDEN", "INPUT_ERROR", "RATELIMITED"])
def test_an_error_below_the_mutation_does_not_say_that_it_was_not_done(code: str) -> None:
    """The mutation ran; a part of what it made could not be read, and the whole answer is null for that."""
    told = {"message": "Entity not found", "extensions": {"code": code}}
    below = _judged({"data": None, "errors": [{**told, "path": ["issueCreate", "issue", "team"]}]})
    at = _judged({"data": None, "errors": [{**told, "path": ["issueCreate"]}]})
    assert below is not None
    assert at is not None
    assert (below.happened, at.happened) == (Happened.UNKNOWN, Happened.NO)


@pytest.mark.parametrize("status", [400, 401, 403, 422])
def test_a_code_goes_before_a_refusal(status: int) -> None:
    """A limit is a 400 at Linear."""
    error = _judged(_error(code="RATELIMITED"), status=status, happened=Happened.NO)
    assert error is not None
    assert (error.kind, error.happened) == (ErrorKind.RATE_LIMITED, Happened.NO)


def test_a_refusal_whose_errors_say_nothing_is_its_status() -> None:
    """As is one that has none."""
    for value in ({"errors": [{"message": "What"}]}, {"message": "revoked"}, None):
        error = _judged(value, status=401, happened=Happened.NO)
        assert error is not None
        assert error.kind is ErrorKind.NEEDS_AUTHORISATION


def test_a_server_error_is_its_status_whatever_it_says() -> None:
    """Nobody knows then what came of a write."""
    error = _judged(_error(code="INPUT_ERROR"), status=503, happened=Happened.UNKNOWN)
    assert error is not None
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.UNKNOWN)


def test_a_limit_says_how_long_to_wait() -> None:
    """By the reset of what is used up."""
    headers = {"X-RateLimit-Requests-Remaining": "0", "X-RateLimit-Requests-Reset": str(int((NOW + 9) * 1000))}
    error = _judged(_error(code="RATELIMITED"), status=400, happened=Happened.NO, headers=headers)
    assert error is not None
    assert error.retry_after_seconds == 9.0


@pytest.mark.parametrize("value", [None, [], "no", {"errors": "no"}, {"errors": [None, 1]}, {"data": {"issue": {}}}])
def test_what_has_no_errors_has_none(value: Any) -> None:
    """Whatever shape it is of."""
    assert errors_of(value) == []
    assert _judged(value) is None
