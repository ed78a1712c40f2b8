"""Every status has a kind and a sentence of our own."""

import pytest

from adapters.base import ErrorKind, Happened
from adapters.http_api.failures import judge
from adapters.transport.replies import Reply


def said(status: int) -> ErrorKind | None:
    """What a status is."""
    error = judge(Reply(status=status, headers={}, value={"message": "secret"}, happened=Happened.NO))
    assert error is None or (error.message.endswith(".") and "secret" not in error.message)
    return None if error is None else error.kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, None),
        (204, None),
        (302, ErrorKind.MALFORMED),
        (304, ErrorKind.MALFORMED),
        (400, ErrorKind.INVALID),
        (401, ErrorKind.NEEDS_AUTHORISATION),
        (403, ErrorKind.FORBIDDEN),
        (404, ErrorKind.NOT_FOUND),
        (405, ErrorKind.INVALID),
        (408, ErrorKind.UNAVAILABLE),
        (409, ErrorKind.CONFLICT),
        (412, ErrorKind.CONFLICT),
        (418, ErrorKind.INVALID),
        (429, ErrorKind.RATE_LIMITED),
        (500, ErrorKind.UNAVAILABLE),
        (501, ErrorKind.INVALID),
        (503, ErrorKind.UNAVAILABLE),
        (999, ErrorKind.MALFORMED),
    ],
)
def test_a_status_is_a_kind(status: int, kind: ErrorKind | None) -> None:
    """Also one that nobody knows."""
    assert said(status) is kind
