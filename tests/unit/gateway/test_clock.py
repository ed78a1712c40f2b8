"""Time as text."""

import pytest

from gateway.clock import SystemClock, rfc3339


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_767_614_400.25, "2026-01-05T12:00:00.250000Z"),
        (1_767_614_400.999_999_9, "2026-01-05T12:00:01.000000Z"),
        (1_767_614_400.000_001, "2026-01-05T12:00:00.000001Z"),
    ],
)
def test_seconds_as_rfc3339(seconds, text):
    """UTC, microseconds, and rounding that carries into the second."""
    assert rfc3339(seconds) == text


def test_the_machines_clock_goes_on():
    """Monotonic time does not go back."""
    clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()
    assert clock.now() > 1_700_000_000
