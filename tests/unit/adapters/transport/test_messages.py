"""Requests and responses print nothing private and know what they mean."""

from fakes.transport import ask

from adapters.base import ErrorKind, Happened
from adapters.transport.messages import Response
from adapters.transport.urls import canonical_url


def _response(status: int, wait: float | None = None) -> Response:
    return Response(
        status=status,
        url=canonical_url("https://a.example/"),
        headers={"X-Token": "s3cret"},
        body=b"s3cret",
        cut=None,
        happened=Happened.UNKNOWN,
        retry_after_seconds=wait,
        attempts=2,
    )


def test_headers_and_bodies_are_not_printed() -> None:
    """Both can hold a credential."""
    request = ask("https://a.example/", method="POST", headers={"Authorization": "s3cret"}, body=b"s3cret")
    assert "s3cret" not in repr(request)
    assert "s3cret" not in repr(_response(200))


def test_only_get_and_head_are_without_effect() -> None:
    """Everything else may change something."""
    assert [ask("https://a.example/", method=each).has_effect for each in ("GET", "HEAD", "POST", "PUT", "DELETE")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_a_status_is_an_error_with_what_is_known() -> None:
    """Kind, effect, wait and attempts come along; success is none."""
    error = _response(429, 12.0).error
    assert error is not None
    assert (error.kind, error.happened) == (ErrorKind.RATE_LIMITED, Happened.UNKNOWN)
    assert (error.retry_after_seconds, error.attempts) == (12.0, 2)
    assert _response(204).error is None
