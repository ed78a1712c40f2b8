"""Single arguments."""

import pytest

from adapters.calendar import fields


@pytest.mark.parametrize(
    "given",
    ["primary", "ann@corp.example", "en.usa#holiday@group.v.calendar.google.com", "c_18f@group.calendar.google.com"],
)
def test_a_calendar_s_id_is_taken_as_it_is(given: str) -> None:
    """It is opaque."""
    issues: fields.Issues = []
    assert fields.calendar_id(given, "/calendar_id", issues) == given
    assert issues == []


def test_an_address_is_one_calendar_in_capitals_too() -> None:
    """What policy compares is what is sent."""
    assert fields.calendar_id("Boss@Corp.Example", "/calendar_id", []) == "boss@corp.example"


@pytest.mark.parametrize("given", ["", ".", "..", "a/b", "a b", "a?b", "a%2fb", "a\\b", "\0", "ü", "x" * 255, "a\nb"])
def test_what_would_lead_elsewhere_is_no_calendar_s_id(given: str) -> None:
    """In a path."""
    issues: fields.Issues = []
    fields.calendar_id(given, "/calendar_id", issues)
    assert [(issue.path, issue.rule) for issue in issues] == [("/calendar_id", "calendar_id")]


@pytest.mark.parametrize("given", ["", "..", "a/b", "a b", "a?b", "x" * 1025, "\u0661"])
def test_what_would_lead_elsewhere_is_no_event_s_id(given: str) -> None:
    """In a path."""
    issues: fields.Issues = []
    fields.event({"event_id": given}, issues)
    assert [(issue.path, issue.rule) for issue in issues] == [("/event_id", "event_id")]


def test_an_event_s_id_is_taken_as_it_is() -> None:
    """Those of occurrences and of imported events too."""
    for given in ("7cbh8rpc10", "7cbh8rpc10_20261201T090000Z", "_6tlnaqrle5p6cpb4dhmj4phpeho"):
        issues: fields.Issues = []
        assert fields.event({"event_id": given}, issues) == {"calendar_id": "primary", "event_id": given}
        assert issues == []


@pytest.mark.parametrize("given", ["", "*", "3527", '"a"b"', '"a\r\nX: 1"', '"', '"' + "x" * 201 + '"', '"ü"'])
def test_what_cannot_stand_in_a_header_is_no_etag(given: str) -> None:
    """`*` would match whatever there is."""
    issues: fields.Issues = []
    fields.etag({"etag": given}, issues)
    assert [(issue.path, issue.rule) for issue in issues] == [("/etag", "etag")]


def test_texts_have_no_control_characters() -> None:
    """A description may have lines, a title may not."""
    issues: fields.Issues = []
    assert fields.text({"d": "a\r\nb\rc\td"}, "d", 20, issues, has_lines=True) == "a\nb\nc\td"
    assert issues == []
    fields.text({"s": "a\nb"}, "s", 20, issues)
    fields.text({"s": "a\0"}, "s", 20, issues)
    fields.text({"s": "a\ud800"}, "s", 20, issues)
    fields.text({"s": "x" * 21}, "s", 20, issues)
    assert [issue.rule for issue in issues] == ["control_character"] * 3 + ["max_length"]


def test_both_ends_are_given_or_none() -> None:
    """A zone alone says nothing either."""
    for given in ({"start": "2026-12-01"}, {"end": "2026-12-01"}, {"time_zone": "UTC"}):
        issues: fields.Issues = []
        fields.content(given, issues)
        assert [(issue.path, issue.rule) for issue in issues] == [("/start", "both")]


def test_whole_days_have_no_zone() -> None:
    """A day is the same everywhere."""
    issues: fields.Issues = []
    fields.content({"start": "2026-12-01", "end": "2026-12-02", "time_zone": "Europe/Warsaw"}, issues)
    assert [(issue.path, issue.rule) for issue in issues] == [("/time_zone", "all_day")]
