"""What an approver is shown."""

from adapters.calendar.arguments import prepare_update
from adapters.calendar.previews import of_cancel, of_update

WAS = {
    "summary": "Review",
    "etag": '"1"',
    "status": "confirmed",
    "start": "2026-12-01T10:00:00Z",
    "end": "2026-12-01T11:00:00Z",
    "is_all_day": False,
    "time_zone": "UTC",
    "location": "Room 4",
    "description": None,
    "attendee_count": 1,
    "is_series": False,
    "attendees": [{"address": "ann@corp.example"}],
}
ABOUT = {"event": "Review", "is_series": False}
UPDATE = {"event_id": "e1", "etag": '"1"', "send_updates": "none"}


def test_an_update_is_shown_before_and_after() -> None:
    """What it touches, the event's title, and whether the event is still the one that was seen."""
    shown = of_update(WAS, prepare_update({**UPDATE, "location": "Room 5", "attendees": ["bo@corp.example"]}))
    assert shown == {
        "was": {**ABOUT, "is_current": True, "attendees": ["ann@corp.example"], "location": "Room 4"},
        "will_be": {**ABOUT, "is_current": True, "attendees": ["bo@corp.example"], "location": "Room 5"},
    }


def test_a_move_shows_all_of_the_times() -> None:
    """Both ends, the zone, and whether it is of whole days."""
    shown = of_update(WAS, prepare_update({**UPDATE, "etag": '"0"', "start": "2026-12-01", "end": "2026-12-02"}))
    assert shown["was"]["is_current"] is False
    assert shown["will_be"] == {
        **ABOUT,
        "is_current": False,
        "start": "2026-12-01",
        "end": "2026-12-02",
        "time_zone": None,
        "is_all_day": True,
    }


def test_a_series_is_shown_as_one() -> None:
    """An approver is not to take it for one meeting."""
    series = {**WAS, "is_series": True}
    assert of_cancel(series)["was"]["is_series"] is True
    assert of_update(series, prepare_update({**UPDATE, "location": "x"}))["will_be"]["is_series"] is True


def test_a_cancellation_shows_what_would_be_gone() -> None:
    """And that it would be."""
    shown = of_cancel(WAS)
    assert (shown["was"]["status"], shown["will_be"]["status"]) == ("confirmed", "cancelled")
    assert shown["was"]["summary"] == "Review"
