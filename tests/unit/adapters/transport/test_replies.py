"""What an answer means."""

import math
from typing import Any

import pytest

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.replies import Reply, by_status, malformed


def reply(status: int = 200, value: Any = None, **more: Any) -> Reply:
    """An answer."""
    return Reply(status=status, headers={}, value=value, happened=Happened.UNKNOWN, **more)


@pytest.mark.parametrize("status", [*range(300, 309), *range(400, 452), *range(500, 512), 529, 599])
def test_every_status_is_an_error(status: int) -> None:
    """In our own words, which fit; with what was known of it."""
    error = by_status(reply(status, retry_after_seconds=3.0, attempts=2), {})
    assert error is not None
    assert 0 < len(error.message) <= 300
    assert (error.retry_after_seconds, error.attempts, error.happened) == (3.0, 2, Happened.UNKNOWN)


def test_a_vendors_own_words_for_a_status() -> None:
    """Before those for all."""
    error = by_status(reply(409), {409: (ErrorKind.INVALID, "Ours.")})
    assert error is not None
    assert (error.kind, error.message) == (ErrorKind.INVALID, "Ours.")
    assert by_status(reply(204), {204: (ErrorKind.INVALID, "Never.")}) is None


@pytest.mark.parametrize(
    ("wait", "told"),
    [(None, 5.0), (0.0, 0.0), (-1.0, 0.0), (math.inf, 86_400.0), (math.nan, None), (1e300, 86_400.0)],
)
def test_a_wait_is_a_number_of_seconds_of_a_day_at_most(wait: float | None, told: float | None) -> None:
    """Whatever was worked out of a vendor's headers; what it said itself, if nothing was."""
    error = reply(429, retry_after_seconds=5.0).error(ErrorKind.RATE_LIMITED, "Ours.", wait=wait)
    assert error.retry_after_seconds == told


def test_an_answer_that_lacks_what_it_must_have() -> None:
    """What it did, it did."""
    with pytest.raises(AdapterError) as caught:
        malformed(Reply(status=200, headers={}, value={}, happened=Happened.YES, attempts=3))
    assert (caught.value.kind, caught.value.happened, caught.value.attempts) == (
        ErrorKind.MALFORMED,
        Happened.YES,
        3,
    )
