"""Moments, days and zones."""

import pytest

from adapters.base import ArgumentIssue
from adapters.calendar.times import Span, read_span, read_window, read_zone


def span(start: str, end: str, zone: str | None = None) -> tuple[Span | None, list[tuple[str, str]]]:
    """What was read, and the places and rules of what is wrong."""
    issues: list[ArgumentIssue] = []
    found = read_span(start, end, zone, issues)
    assert all(issue.message.startswith("`") for issue in issues)
    return found, [(issue.path, issue.rule) for issue in issues]


@pytest.mark.parametrize(
    ("start", "end", "want"),
    [
        ("2026-12-01T09:30:00+01:00", "2026-12-01T10:00:00+01:00", 30),
        ("2026-12-01t09:30:00z", "2026-12-01T10:30:00.000Z", 60),
        ("2026-12-01T23:30:00+01:00", "2026-12-01T23:00:00Z", 30),
        ("2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", 24 * 60),
    ],
)
def test_moments_keep_their_own_offset(start: str, end: str, want: int) -> None:
    """And are compared as the instants that they are."""
    found, issues = span(start, end)
    assert issues == []
    assert found is not None
    assert (found.minutes, found.is_all_day) == (want, False)
    assert found.start == start.upper().replace(".000", "")


def test_days_are_events_of_whole_days() -> None:
    """Their end is the day after the last."""
    assert span("2026-12-01", "2026-12-03") == (Span("2026-12-01", "2026-12-03", True, 2 * 24 * 60), [])


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T09:30:00",
        "2026-12-01 09:30:00Z",
        "2026-12-01T09:30Z",
        "2026-12-01T09:30:00-00:00",
        "2026-12-01T09:30:00+1:00",
        "2026-12-01T09:30:00+15:00",
        "2026-12-01T09:30:00+01:60",
        "2026-12-01T24:00:00Z",
        "2026-12-01T09:30:60Z",
        "2026-12-01T09:30:00.5Z",
        "2026-02-30T09:30:00Z",
        "2026-13-01T09:30:00Z",
        "20261201T093000Z",
        "tomorrow",
        "",
        "2026-12-01",
        "٢٠٢٦-12-01T09:30:00Z",
        "2026-12-01T09:30:00Z\n",
        "2026-12-01T09:30:00[Europe/Warsaw]",
    ],
)
def test_what_is_no_moment_is_said_so(text: str) -> None:
    """Also a moment whose offset is not known, and a day on one side alone."""
    found, issues = span(text, "2026-12-09T10:00:00Z")
    assert found is None
    assert issues == [("/start", "date_time")]


@pytest.mark.parametrize("text", ["2026-02-30", "2026-00-10"])
def test_a_day_that_does_not_exist_is_none(text: str) -> None:
    """However well it is written."""
    assert span("2026-01-01", text) == (None, [("/end", "date")])


@pytest.mark.parametrize("year", ["1969", "2200", "9999", "0001"])
def test_years_far_away_are_mistakes(year: str) -> None:
    """Of moments and of days."""
    assert ("/start", "year") in span(f"{year}-01-01T00:00:00Z", "2026-12-01T00:00:00Z")[1]
    assert ("/start", "year") in span(f"{year}-01-01", "2026-12-01")[1]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-12-01T10:00:00Z", "2026-12-01T10:00:00Z"),
        ("2026-12-01T10:00:00Z", "2026-12-01T10:30:00+01:00"),
        ("2026-12-02", "2026-12-02"),
        ("2026-12-02", "2026-12-01"),
    ],
)
def test_an_event_ends_after_it_begins(start: str, end: str) -> None:
    """Compared as instants, so an offset does not hide it."""
    assert span(start, end) == (None, [("/end", "order")])


def test_an_offset_that_the_zone_does_not_have_then_is_a_mistake() -> None:
    """Summer and winter differ; what the offset is there is said."""
    assert span("2026-07-01T10:00:00+02:00", "2026-07-01T11:00:00+02:00", "Europe/Warsaw")[1] == []
    issues: list[ArgumentIssue] = []
    assert read_span("2026-07-01T10:00:00+01:00", "2026-07-01T11:00:00+02:00", "Europe/Warsaw", issues) is None
    assert [(issue.path, issue.rule) for issue in issues] == [("/start", "offset")]
    assert "+02:00" in issues[0].message


@pytest.mark.parametrize("name", ["Europe/Warsaw", "UTC", "America/Argentina/Buenos_Aires"])
def test_zones_of_the_list_are_known(name: str) -> None:
    """By their names there."""
    issues: list[ArgumentIssue] = []
    assert read_zone(name, issues) == name
    assert issues == []


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "../../etc/passwd", "Europe", "CET+1", "\0", "x" * 5000, "\ud800"]
)
def test_other_names_are_no_zones(name: str) -> None:
    """Whatever they would be as a path."""
    issues: list[ArgumentIssue] = []
    assert read_zone(name, issues) is None
    assert [(issue.path, issue.rule) for issue in issues] == [("/time_zone", "time_zone")]


def test_a_window_is_bounded() -> None:
    """By so many days."""
    issues: list[ArgumentIssue] = []
    assert read_window("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", 2, issues) is not None
    assert read_window("2026-01-01T00:00:00Z", "2026-01-03T00:00:01Z", 2, issues) is None
    assert read_window("2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z", 2, issues) is None
    assert read_window("2026-01-03", "2026-01-04", 2, issues) is None
    assert [(issue.path, issue.rule) for issue in issues] == [
        ("/time_max", "window"),
        ("/time_max", "order"),
        ("/time_min", "date_time"),
        ("/time_max", "date_time"),
    ]
