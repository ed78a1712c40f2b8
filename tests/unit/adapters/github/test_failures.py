"""What GitHub's refusals mean."""

from typing import Any

import pytest
from fakes.clock import FakeClock
from multidict import CIMultiDict

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.github.failures import Judge
from adapters.transport.replies import Reply


def judged(status: int, value: Any = None, *, happened: Happened = Happened.NO, **headers: str) -> AdapterError | None:
    """The error that an answer is."""
    given = CIMultiDict({name.replace("_", "-"): text for name, text in headers.items()})
    return Judge(FakeClock())(Reply(status=status, headers=given, value=value, happened=happened))


def refused(status: int, message: str = "", *errors: Any, **more: Any) -> AdapterError:
    """The error that a refusal is."""
    error = judged(status, {"message": message, "errors": list(errors)}, **more)
    assert error is not None
    return error


def test_a_good_answer_is_no_error() -> None:
    """Whatever stands in it."""
    assert judged(200, {"message": "secondary rate limit"}) is None
    assert judged(204) is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_repository_that_moved_is_told_and_nothing_was_done(status: int) -> None:
    """GitHub sends elsewhere instead of doing something."""
    error = refused(status, "Moved Permanently", happened=Happened.UNKNOWN)
    assert (error.kind, error.happened) == (ErrorKind.NOT_FOUND, Happened.NO)
    assert "renamed" in error.message


@pytest.mark.parametrize(
    ("status", "message", "kind", "told"),
    [
        (403, "Resource not accessible by integration", ErrorKind.FORBIDDEN, "permission"),
        (403, "Repository was archived so is read-only.", ErrorKind.FORBIDDEN, "archived"),
        (403, "Unable to create comment because issue is locked.", ErrorKind.FORBIDDEN, "locked"),
        (404, "Not Found", ErrorKind.NOT_FOUND, "hides"),
        (409, "Git Repository is empty.", ErrorKind.CONFLICT, "empty"),
        (409, "Repository rule violations found", ErrorKind.FORBIDDEN, "protected"),
        (410, "Issues has been disabled in this repository.", ErrorKind.NOT_FOUND, "switched off"),
        (413, "", ErrorKind.INVALID, "less"),
        (422, "Update is not a fast forward", ErrorKind.CONFLICT, "meanwhile"),
        (422, "Update is not a fast-forward", ErrorKind.CONFLICT, "meanwhile"),
        (422, "Reference already exists", ErrorKind.CONFLICT, "start_from"),
        (422, "Reference does not exist", ErrorKind.NOT_FOUND, "branch"),
        (422, "Reviews may only be requested from collaborators.", ErrorKind.INVALID, "access"),
        (422, "Protected branch update failed", ErrorKind.FORBIDDEN, "protected"),
        (422, "Validation Failed", ErrorKind.INVALID, "these arguments"),
        (451, "Repository access blocked", ErrorKind.FORBIDDEN, "legal"),
        (500, "", ErrorKind.UNAVAILABLE, "500"),
        (401, "Bad credentials", ErrorKind.NEEDS_AUTHORISATION, "authorise"),
    ],
)
def test_a_refusal_has_a_kind_and_a_sentence_of_ours(status: int, message: str, kind: ErrorKind, told: str) -> None:
    """That says what there is to do."""
    error = refused(status, message)
    assert error.kind is kind
    assert told in error.message


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("A pull request already exists for acme:cart.", ErrorKind.CONFLICT),
        ("No commits between main and cart", ErrorKind.INVALID),
        ("The listed users and repositories cannot be searched either because …", ErrorKind.NOT_FOUND),
        ("Review cannot be requested from pull request author.", ErrorKind.INVALID),
        ("This already exists", ErrorKind.CONFLICT),
    ],
)
def test_a_422_is_told_apart_by_what_its_errors_say(message: str, kind: ErrorKind) -> None:
    """As objects, or as strings alone."""
    assert refused(422, "Validation Failed", {"code": "custom", "message": message}).kind is kind
    assert refused(422, "Validation Failed", message).kind is kind


def test_a_422_names_our_argument_and_nothing_of_the_vendors() -> None:
    """From a list of ours: what a field is called, and what was in it, could be anything."""
    error = refused(422, "x", {"field": "draft", "code": "invalid"}, {"field": "<evil>", "value": "secret"})
    assert error.message.startswith("GitHub does not take `is_draft`;")
    assert "evil" not in error.message
    assert refused(422, "x", {"field": "q", "code": "already_exists"}).kind is ErrorKind.CONFLICT


def test_a_file_too_large_to_be_given_out_is_told() -> None:
    """By the code of an error in a 403."""
    error = refused(403, "This API returns blobs up to 1 MB in size.", {"code": "too_large", "field": "data"})
    assert error.kind is ErrorKind.TOO_LARGE


def test_single_sign_on_needs_a_person() -> None:
    """The header tells it from other refusals."""
    error = refused(403, "Resource protected by organization SAML enforcement.", x_github_sso="required; url=…")
    assert (error.kind, error.retry_after_seconds) == (ErrorKind.NEEDS_AUTHORISATION, None)


def test_a_limit_goes_before_what_else_a_refusal_may_be() -> None:
    """And says how long to wait."""
    error = refused(403, "secondary rate limit; archived")
    assert (error.kind, error.retry_after_seconds) == (ErrorKind.RATE_LIMITED, 60.0)


@pytest.mark.parametrize("value", [None, [], "text", 7, {"errors": 7}, {"errors": [[], None, {"message": []}]}])
def test_a_refusal_of_another_shape_is_a_refusal(value: Any) -> None:
    """Never a crash."""
    for status in (403, 409, 422):
        error = judged(status, value)
        assert error is not None
        assert error.kind in (ErrorKind.FORBIDDEN, ErrorKind.CONFLICT, ErrorKind.INVALID)
