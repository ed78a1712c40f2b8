"""Google Calendar through the adapter."""

from typing import Any

import pytest
from fakes.cases.calendar import ETAG, WINDOW, event, page
from fakes.clock import FakeClock
from fakes.vendor import Answer, Asked, Said, desk, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, Output, Target
from adapters.calendar.marks import event_id, is_marked, mark
from adapters.installed import build_adapters

CREATE = {
    "summary": "Quarterly review",
    "start": "2026-12-02T10:00:00+01:00",
    "end": "2026-12-02T11:00:00+01:00",
    "attendees": ["ann@corp.example"],
    "send_updates": "all",
}
UPDATE = {"event_id": "e1", "etag": ETAG, "send_updates": "none"}
DUPLICATE = Said({"error": {"errors": [{"reason": "duplicate"}], "code": 409}}, status=409)


async def asked_of(answer: Answer | Said, operation: str, arguments: dict[str, Any]) -> tuple[Output, list[Asked]]:
    """What came of it, and what Google was asked."""
    async with vendor_server(answer) as server, desk(server) as at:
        return await at.ask("calendar", operation, arguments), server.asked


async def failed(answer: Answer | Said, operation: str, arguments: dict[str, Any]) -> tuple[AdapterError, list[Asked]]:
    """What it ended with."""
    async with vendor_server(answer) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("calendar", operation, arguments)
        return caught.value, server.asked


async def test_a_list_goes_on_where_the_cursor_leads() -> None:
    """Occurrence by occurrence, in the order of their start; the cursor is of this list alone."""
    answer = saying(Said(page(event(id="a"), nextPageToken="CigK")), Said(page(event(id="b"))))
    async with vendor_server(answer) as server, desk(server) as at:
        first = await at.ask("calendar", "list_events", {**WINDOW, "limit": 1})
        cursor = first.structured["next_cursor"]
        second = await at.ask("calendar", "list_events", {**WINDOW, "limit": 1, "cursor": cursor})
    assert [each["id"] for each in first.structured["events"] + second.structured["events"]] == ["a", "b"]
    assert second.structured["next_cursor"] is None
    one, two = server.asked
    assert one.path == "/calendars/primary/events"
    assert one.query == {
        "timeMin": ["2026-12-01T00:00:00+01:00"],
        "timeMax": ["2026-12-08T00:00:00+01:00"],
        "maxResults": ["1"],
        "singleEvents": ["true"],
        "orderBy": ["startTime"],
    }
    assert two.query == {**one.query, "pageToken": ["CigK"]}


async def test_an_event_is_got_from_its_calendar() -> None:
    """Whose id is one segment of the path, whatever is in it."""
    calendar = "en.usa#holiday@group.v.calendar.google.com"
    output, (asked,) = await asked_of(Said(event()), "get_event", {"event_id": "e1", "calendar_id": calendar})
    assert asked.path == f"/calendars/{calendar}/events/e1"
    assert output.structured["description"] == "Bring the numbers."
    assert "Bring" not in output.receipt


async def test_free_busy_is_a_read_that_may_be_repeated() -> None:
    """Although it is a POST."""
    good = Said({"calendars": {"primary": {"busy": []}}})
    output, asked = await asked_of(
        saying(Said({}, status=503), good), "free_busy", {**WINDOW, "calendars": ["primary"]}
    )
    assert output.structured == {"calendars": [{"calendar": "primary", "busy": [], "error": None}]}
    assert (output.attempts, len(asked)) == (2, 2)
    assert asked[0].json["items"] == [{"id": "primary"}]


async def test_a_new_event_has_the_effect_s_own_id() -> None:
    """So that it can be found; who is told is said, and nothing is asked for that nobody wanted."""
    output, (asked,) = await asked_of(Said(event()), "create_event", CREATE)
    assert (asked.method, asked.query) == ("POST", {"sendUpdates": ["all"]})
    assert asked.json["id"] == event_id("eff-1")
    assert is_marked(asked.json, "eff-1")
    assert "conferenceData" not in asked.json
    assert output.receipt == "Created an event; invitations or notices were sent."
    silent, _ = await asked_of(Said(event()), "create_event", {**CREATE, "send_updates": "none"})
    assert silent.receipt == "Created an event; nobody was notified."


async def test_g11_an_event_that_an_earlier_attempt_made_is_the_answer() -> None:
    """The id is taken, by this very effect: it happened, and is not done again."""
    own = event(id=event_id("eff-1"), **mark("eff-1"))
    output, asked = await asked_of(saying(DUPLICATE, Said(own)), "create_event", CREATE)
    assert output.structured["id"] == event_id("eff-1")
    assert [one.method for one in asked] == ["POST", "GET"]


async def test_g11_an_event_that_was_changed_since_is_still_the_one_that_was_made() -> None:
    """A later effect leaves its own mark; the id stays this effect's."""
    changed = event(id=event_id("eff-1"), **mark("eff-2"))
    output, _ = await asked_of(saying(DUPLICATE, Said(changed)), "create_event", CREATE)
    assert output.structured["id"] == event_id("eff-1")


@pytest.mark.parametrize(
    ("there", "happened"),
    [
        (Said(event(id=event_id("eff-1"), status="cancelled")), Happened.YES),
        (Said({"error": {"errors": [{"reason": "deleted"}]}}, status=410), Happened.YES),
        (Said(event(id="another", **mark("eff-1"))), Happened.UNKNOWN),
        (Said([]), Happened.UNKNOWN),
        (Said({}, status=404), Happened.UNKNOWN),
        (Said({}, status=500), Happened.UNKNOWN),
        (Said(body=b"<html>"), Happened.UNKNOWN),
    ],
)
async def test_an_id_that_is_taken_was_taken_by_this_effect(there: Said, happened: Happened) -> None:
    """By an event that is gone, or that cannot be seen: nobody is told that nothing happened."""
    error, asked = await failed(saying(DUPLICATE, there), "create_event", CREATE)
    assert (error.kind, error.happened) == (ErrorKind.CONFLICT, happened)
    assert [one.method for one in asked].count("POST") == 1


async def test_g11_a_new_event_is_not_sent_twice() -> None:
    """Google does not promise to notice, and invitations would go out again."""
    error, asked = await failed(Said({}, status=503), "create_event", CREATE)
    assert (error.kind, error.happened, len(asked)) == (ErrorKind.UNAVAILABLE, Happened.UNKNOWN, 1)


async def test_a_change_is_made_to_the_version_that_was_seen() -> None:
    """As a patch, with a mark, after a look whether it is a series."""
    _, (read, asked) = await asked_of(Said(event()), "update_event", {**UPDATE, "location": "Room 5"})
    assert (read.method, asked.method, asked.path) == ("GET", "PATCH", "/calendars/primary/events/e1")
    assert asked.headers["If-Match"] == ETAG
    assert asked.json == {"location": "Room 5", **mark("eff-1")}
    assert asked.query == {"sendUpdates": ["none"]}


async def test_who_stays_invited_keeps_their_answer() -> None:
    """The list is read first, of that very version."""
    wanted = {**UPDATE, "attendees": ["ann@corp.example", "new@corp.example"]}
    _, (read, written) = await asked_of(Said(event()), "update_event", wanted)
    assert (read.method, written.method) == ("GET", "PATCH")
    assert written.json["attendees"] == [event()["attendees"][0], {"email": "new@corp.example"}]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [({"etag": '"newer"'}, ErrorKind.CONFLICT), ({"attendeesOmitted": True}, ErrorKind.FORBIDDEN)],
)
async def test_a_list_that_cannot_be_kept_is_not_changed(changes: dict[str, Any], kind: ErrorKind) -> None:
    """Nothing is written."""
    error, asked = await failed(Said(event(**changes)), "update_event", {**UPDATE, "attendees": []})
    assert (error.kind, error.happened) == (kind, Happened.NO)
    assert [one.method for one in asked] == ["GET"]


async def test_a_changed_event_is_a_conflict() -> None:
    """That says what to do."""
    stale = Said({"error": {"errors": [{"reason": "conditionNotMet"}], "code": 412}}, status=412)
    error, _ = await failed(stale, "update_event", {**UPDATE, "summary": "x"})
    assert (error.kind, error.happened, "etag" in error.message) == (ErrorKind.CONFLICT, Happened.NO, True)


async def test_an_event_that_was_cancelled_before_is_cancelled() -> None:
    """Twice is the same as once."""
    arguments = {"event_id": "e1", "send_updates": "all"}
    output, (_, asked) = await asked_of(saying(Said(event()), Said(status=204, body=b"")), "cancel_event", arguments)
    assert (asked.method, asked.query) == ("DELETE", {"sendUpdates": ["all"]})
    assert output.structured == {"id": "e1", "status": "cancelled", "was_cancelled_before": False}
    deleted = Said({"error": {"errors": [{"reason": "deleted"}], "code": 410}}, status=410)
    for answer in (deleted, saying(Said(event()), deleted), Said(event(status="cancelled"))):
        again, sent = await asked_of(answer, "cancel_event", arguments)
        assert again.structured["was_cancelled_before"] is True
        assert [one.method for one in sent] in (["GET"], ["GET", "DELETE"])


SERIES = event(id="e1", recurrence=["RRULE:FREQ=WEEKLY"])


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("cancel_event", {"event_id": "e1", "send_updates": "all"}),
        ("cancel_event", {"event_id": "e1", "send_updates": "all", "whole_series": False}),
        ("update_event", {**UPDATE, "summary": "x"}),
        ("update_event", {**UPDATE, "attendees": ["ann@corp.example"]}),
    ],
)
async def test_a_series_is_not_touched_by_accident(operation: str, arguments: dict[str, Any]) -> None:
    """Its id alone does not say that all its occurrences are meant: nothing is sent, and the agent is told how."""
    error, asked = await failed(Said(SERIES), operation, arguments)
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)
    assert "whole_series" in error.message
    assert [one.method for one in asked] == ["GET"]


async def test_a_series_that_is_meant_is_changed() -> None:
    """And an occurrence is no series."""
    for answer, more in ((Said(SERIES), {"whole_series": True}), (Said(event(recurringEventId="e1")), {})):
        _, asked = await asked_of(answer, "update_event", {**UPDATE, "summary": "x", **more})
        assert asked[-1].method == "PATCH"
        cancel = saying(answer, Said(status=204, body=b"")) if not more else Said(status=204, body=b"")
        _, asked = await asked_of(cancel, "cancel_event", {"event_id": "e1", "send_updates": "all", **more})
        assert asked[-1].method == "DELETE"


async def test_previews_read_and_write_nothing() -> None:
    """What is, and what would be."""
    async with vendor_server(Said(event(id="e1"))) as server, desk(server) as at:
        for name, arguments in (
            ("update_event", {**UPDATE, "summary": "Later"}),
            ("cancel_event", {"event_id": "e1", "send_updates": "all"}),
        ):
            operation = at.adapters["calendar"].operations[name]
            assert operation.preview is not None
            shown = await operation.preview(at.invocation(operation.prepare(arguments)))
            assert shown["was"] != shown["will_be"]
    assert server.effects == []


def test_a_right_connection_passes() -> None:
    """With Google's own servers."""
    adapter = build_adapters_once()
    hosts = ("www.googleapis.com", "oauth2.googleapis.com")
    assert adapter.check_target(Target(name="c", hosts=hosts)) == []
    assert adapter.check_target(Target(name="c", hosts=hosts, options={"subject": "ann@corp.example"})) == []


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"base_url": "http://www.googleapis.com"}, "https"),
        ({"timezone": "UTC"}, "timezone"),
        ({"scopes": 5}, "scopes"),
    ],
)
def test_a_wrong_connection_is_told(options: dict[str, Any], word: str) -> None:
    """One sentence for the one thing that is wrong."""
    hosts = ("www.googleapis.com", "oauth2.googleapis.com")
    (sentence,) = build_adapters_once().check_target(Target(name="c", hosts=hosts, options=options))
    assert word in sentence


def build_adapters_once() -> Any:
    """The adapter as it is installed."""
    return build_adapters(FakeClock())["calendar"]
