"""When a message came."""

import pytest

from adapters.email.times import internal_date


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (b"17-Jul-2026 02:44:25 -0700", "2026-07-17T09:44:25+00:00"),
        (b" 1-Jan-2026 00:00:00 +0000", "2026-01-01T00:00:00+00:00"),
        (b"01-jan-2026 00:30:00 +0100", "2025-12-31T23:30:00+00:00"),
    ],
)
def test_a_date_is_told_in_utc(value: bytes, moment: str) -> None:
    """Wherever the server is."""
    assert internal_date(value) == moment


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        b"",
        b"soon",
        b"32-Jan-2026 00:00:00 +0000",
        b"01-Foo-2026 00:00:00 +0000",
        b"01-Jan-0001 00:00:00 +9999",
        [],
    ],
)
def test_what_is_no_date_is_none(value: object) -> None:
    """Never a crash."""
    assert internal_date(value) is None
