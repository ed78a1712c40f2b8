"""What policy sees of what an agent sends."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.calendar.arguments import (
    prepare_cancel,
    prepare_create,
    prepare_free_busy,
    prepare_get,
    prepare_list,
    prepare_update,
)

WINDOW = {"time_min": "2026-12-01T00:00:00Z", "time_max": "2026-12-02T00:00:00Z"}
CREATE = {
    "summary": " Review ",
    "start": "2026-12-01T10:00:00+01:00",
    "end": "2026-12-01T11:00:00+01:00",
    "send_updates": "all",
}
UPDATE = {"event_id": "e1", "etag": '"1"', "send_updates": "none"}


def issues_of(prepare: Any, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Places and rules of what is wrong."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare(arguments)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_a_list_is_a_window_of_a_calendar() -> None:
    """With defaults, and the page that a cursor leads to."""
    assert prepare_list(WINDOW) == {
        **WINDOW,
        "calendar_id": "primary",
        "query": None,
        "limit": 25,
        "cursor": None,
        "page": None,
    }


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """Of a list."""
    wrong = {"time_min": "x", "time_max": WINDOW["time_max"], "limit": 0, "calendar_id": "..", "query": "\0"}
    assert {path for path, _ in issues_of(prepare_list, wrong)} == {"/time_min", "/limit", "/calendar_id", "/query"}
    assert issues_of(prepare_list, {**WINDOW, "limit": 101}) == [("/limit", "range")]
    assert issues_of(prepare_list, {**WINDOW, "cursor": "made up"}) == [("/cursor", "cursor")]


def test_a_new_event_shows_policy_whom_it_invites() -> None:
    """Addresses and domains, and whether mail goes out."""
    assert prepare_create({**CREATE, "attendees": ["Ann@corp.example", "bo@other.example"]}) == {
        "calendar_id": "primary",
        "summary": "Review",
        "description": None,
        "location": None,
        "start": "2026-12-01T10:00:00+01:00",
        "end": "2026-12-01T11:00:00+01:00",
        "time_zone": None,
        "is_all_day": False,
        "duration_minutes": 60,
        "attendees": ["ann@corp.example", "bo@other.example"],
        "attendee_domains": ["corp.example", "other.example"],
        "send_updates": "all",
        "sends_invitations": True,
    }


@pytest.mark.parametrize(
    ("changes", "sends"),
    [
        ({"attendees": []}, False),
        ({"attendees": ["a@b.example"], "send_updates": "none"}, False),
        ({"attendees": ["a@b.example"], "send_updates": "external_only"}, True),
    ],
)
def test_invitations_go_out_when_there_is_somebody_to_tell(changes: dict[str, Any], sends: bool) -> None:
    """And nobody said that they are not to."""
    assert prepare_create({**CREATE, **changes})["sends_invitations"] is sends


def test_a_new_event_has_a_title() -> None:
    """One that is more than blanks."""
    assert issues_of(prepare_create, {**CREATE, "summary": "  "}) == [("/summary", "min_length")]


def test_an_update_says_what_changes() -> None:
    """And leaves None for what stays; whom it tells is not known, so it counts as sending unless it is silent."""
    prepared = prepare_update({**UPDATE, "location": "", "attendees": ["a@b.example"]})
    assert prepared["changes"] == ["attendees", "location"]
    assert (prepared["location"], prepared["summary"], prepared["start"]) == ("", None, None)
    assert (prepared["attendees"], prepared["attendee_domains"]) == (["a@b.example"], ["b.example"])
    assert (prepared["recipients"], prepared["sends_invitations"]) == (["a@b.example"], False)
    silent = prepare_update({**UPDATE, "summary": "x", "send_updates": "all"})
    assert (silent["sends_invitations"], silent["attendees"], silent["recipients"]) == (True, None, [])


def test_an_update_of_nothing_is_a_mistake() -> None:
    """It would send mail about nothing."""
    assert issues_of(prepare_update, UPDATE) == [("/summary", "min_properties")]


def test_a_cancelled_event_is_told_unless_it_is_silent() -> None:
    """Whoever was invited."""
    arguments = {"event_id": "e1", "send_updates": "all"}
    assert prepare_cancel(arguments)["sends_invitations"] is True
    assert prepare_cancel({**arguments, "send_updates": "none"})["sends_invitations"] is False
    assert issues_of(prepare_cancel, {**arguments, "event_id": ".."}) == [("/event_id", "event_id")]


def test_policy_sees_whether_a_whole_series_is_meant() -> None:
    """It is not unless somebody says so."""
    cancel = {"event_id": "e1", "send_updates": "all"}
    for prepare, arguments in ((prepare_cancel, cancel), (prepare_update, {**UPDATE, "summary": "x"})):
        assert prepare(arguments)["whole_series"] is False
        assert prepare({**arguments, "whole_series": True})["whole_series"] is True


def test_an_event_is_named_by_calendar_and_id() -> None:
    """The account's own calendar when none is named."""
    assert prepare_get({"event_id": "e1"}) == {"calendar_id": "primary", "event_id": "e1"}


def test_free_busy_names_each_calendar_once() -> None:
    """From one to fifty."""
    assert prepare_free_busy({**WINDOW, "calendars": ["b", "a", "b"]})["calendars"] == ["b", "a"]
    assert issues_of(prepare_free_busy, {**WINDOW, "calendars": []}) == [("/calendars", "items")]
    assert issues_of(prepare_free_busy, {**WINDOW, "calendars": ["x"] * 51}) == [("/calendars", "items")]
    assert issues_of(prepare_free_busy, {**WINDOW, "calendars": ["a", ".."]}) == [("/calendars/1", "calendar_id")]
