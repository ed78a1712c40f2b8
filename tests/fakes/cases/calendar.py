"""Operations of Google Calendar."""

from dataclasses import replace
from typing import Any

from adapters.base import Target
from fakes.cases.base import ApiCase, Case, api, api_target, nothing
from fakes.vendor import Asked, Said

ETAG = '"3527893440000000"'
WINDOW = {"time_min": "2026-12-01T00:00:00+01:00", "time_max": "2026-12-08T00:00:00+01:00"}


def event(**changes: Any) -> dict[str, Any]:
    """An event as Google tells it, with these differences."""
    return {
        "kind": "calendar#event",
        "etag": ETAG,
        "id": "7cbh8rpc10lrc0ckih9tafss99",
        "status": "confirmed",
        "htmlLink": "https://www.google.com/calendar/event?eid=N2NiaDhycGMxMGxyYzBja2loOXRhZnNzOTk",
        "created": "2026-11-20T09:00:00.000Z",
        "updated": "2026-11-24T12:32:00.000Z",
        "summary": "Quarterly review",
        "description": "Bring the numbers.",
        "location": "Room 4",
        "creator": {"email": "bot@corp.example", "self": True},
        "organizer": {"email": "bot@corp.example", "self": True},
        "start": {"dateTime": "2026-12-02T10:00:00+01:00", "timeZone": "Europe/Warsaw"},
        "end": {"dateTime": "2026-12-02T11:00:00+01:00", "timeZone": "Europe/Warsaw"},
        "iCalUID": "7cbh8rpc10lrc0ckih9tafss99@google.com",
        "sequence": 0,
        "attendees": [
            {"email": "ann@corp.example", "displayName": "Ann", "responseStatus": "accepted"},
            {"email": "bot@corp.example", "organizer": True, "self": True, "responseStatus": "needsAction"},
        ],
        "reminders": {"useDefault": True},
        "eventType": "default",
        **changes,
    }


def page(*events: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A page of a list."""
    return {"kind": "calendar#events", "summary": "bot@corp.example", "items": list(events), **more}


def _written(_asked: Asked) -> Said:
    """What was written; whoever reads the event before that gets it too."""
    return Said(event())


def _deleted(asked: Asked) -> Said:
    """The event, to whoever looks at it first."""
    return Said(event()) if asked.method == "GET" else Said(status=204, body=b"")


def _busy(asked: Asked) -> Said:
    named = [each["id"] for each in asked.json["items"]]
    busy = [{"start": "2026-12-02T09:00:00Z", "end": "2026-12-02T10:00:00Z"}]
    return Said({"kind": "calendar#freeBusy", "calendars": {name: {"busy": busy} for name in named}})


def _target(port: int) -> Target:
    """Where tokens are had is on loopback too."""
    target = api_target(port)
    return replace(target, options={**target.options, "token_url": f"http://127.0.0.1:{port}/token"})


def _case(operation: str, arguments: dict[str, Any], answer: Any, **more: Any) -> ApiCase:
    return api("calendar", operation, arguments, answer, target=_target, **more)


CASES: tuple[Case, ...] = (
    _case("list_events", {**WINDOW, "query": "review"}, lambda _asked: Said(page(event(), nextPageToken="CigKGjd"))),
    _case("get_event", {"event_id": "7cbh8rpc10lrc0ckih9tafss99"}, lambda _asked: Said(event())),
    _case("free_busy", {**WINDOW, "calendars": ["primary", "ann@corp.example"]}, _busy, changes=nothing),
    _case(
        "create_event",
        {
            "summary": "Quarterly review",
            "description": "Bring the numbers.",
            "start": "2026-12-02T10:00:00+01:00",
            "end": "2026-12-02T11:00:00+01:00",
            "time_zone": "Europe/Warsaw",
            "attendees": ["ann@corp.example"],
            "send_updates": "all",
        },
        _written,
    ),
    _case(
        "update_event",
        {"event_id": "7cbh8rpc10lrc0ckih9tafss99", "etag": ETAG, "location": "Room 5", "send_updates": "all"},
        _written,
    ),
    _case(
        "cancel_event",
        {"event_id": "7cbh8rpc10lrc0ckih9tafss99", "send_updates": "all"},
        _deleted,
    ),
)
