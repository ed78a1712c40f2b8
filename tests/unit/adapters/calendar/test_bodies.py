"""What Google is sent."""

from typing import Any

from adapters.calendar.arguments import prepare_create, prepare_update
from adapters.calendar.bodies import changed_event, new_event, updates, wanted_attendees
from adapters.calendar.marks import event_id, mark

CREATE = {"summary": "Review", "start": "2026-12-01", "end": "2026-12-02", "send_updates": "external_only"}
UPDATE = {"event_id": "e1", "etag": '"1"', "send_updates": "none"}
MOMENTS = {"start": "2026-12-01T10:00:00Z", "end": "2026-12-01T11:00:00Z"}


def test_a_new_event_bears_the_effect_s_id_and_mark() -> None:
    """And what was given, no more: no conference, no reminders."""
    assert new_event(prepare_create(CREATE), "eff-1") == {
        "id": event_id("eff-1"),
        "summary": "Review",
        "start": {"date": "2026-12-01"},
        "end": {"date": "2026-12-02"},
        **mark("eff-1"),
    }


def test_the_zone_goes_with_both_ends() -> None:
    """When there is one."""
    body = new_event(prepare_create({**CREATE, **MOMENTS, "time_zone": "UTC", "attendees": ["a@b.example"]}), "eff-1")
    assert body["start"] == {"dateTime": "2026-12-01T10:00:00Z", "timeZone": "UTC"}
    assert body["end"] == {"dateTime": "2026-12-01T11:00:00Z", "timeZone": "UTC"}
    assert body["attendees"] == [{"email": "a@b.example"}]


def test_a_patch_says_only_what_changes() -> None:
    """An empty text is one; what is left out is not there."""
    assert changed_event(prepare_update({**UPDATE, "location": ""}), "eff-1") == {"location": "", **mark("eff-1")}
    assert changed_event(prepare_update({**UPDATE, "summary": "x"}), "eff-1", [{"email": "a@b.example"}]) == {
        "summary": "x",
        "attendees": [{"email": "a@b.example"}],
        **mark("eff-1"),
    }


def test_a_patch_empties_the_other_form_of_time() -> None:
    """It would stay beside the new one else."""
    days = changed_event(prepare_update({**UPDATE, "start": "2026-12-01", "end": "2026-12-02"}), "e")
    assert days["start"] == {"date": "2026-12-01", "dateTime": None, "timeZone": None}
    moments = changed_event(prepare_update({**UPDATE, **MOMENTS}), "e")
    assert moments["end"] == {"dateTime": "2026-12-01T11:00:00Z", "date": None}


def test_who_stays_keeps_their_answer() -> None:
    """Found by address, in whatever case; nonsense in between is passed over."""
    ann: dict[str, Any] = {"email": "Ann@corp.example", "responseStatus": "accepted"}
    event = {"attendees": [None, ann, {"email": "bo@corp.example"}, "x"]}
    assert wanted_attendees(event, ["new@corp.example", "ann@corp.example"]) == [{"email": "new@corp.example"}, ann]
    assert wanted_attendees({}, ["a@b.example"]) == [{"email": "a@b.example"}]
    assert wanted_attendees({"attendees": "x"}, []) == []


def test_who_is_told_is_always_said() -> None:
    """In Google's words."""
    assert [updates({"send_updates": each})["sendUpdates"] for each in ("all", "external_only", "none")] == [
        "all",
        "externalOnly",
        "none",
    ]
