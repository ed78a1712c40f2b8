"""What Google says, as a model is told it. Of whatever shape: without what is essential it is `malformed`, and what
else is missing is None.
"""

from collections.abc import Mapping
from typing import Any

from adapters.transport.replies import Reply, malformed
from adapters.transport.values import listed, mapping

MAX_ATTENDEES = 200
_MAX_TEXT = 10_000
_MAX_LINE = 1024
_MAX_BUSY = 1000
_MAX_EVENTS = 2500
_RESPONSES = {"needsAction": "none", "declined": "declined", "tentative": "tentative", "accepted": "accepted"}
_STATUSES = frozenset({"confirmed", "tentative", "cancelled"})


def brief_event(reply: Reply, value: Any) -> dict[str, Any]:
    """One event of a list."""
    event = _event(reply, value)
    attendees = listed(event.get("attendees"))
    return {
        "id": event["id"],
        "etag": _line(event.get("etag")),
        "status": _status(event),
        "summary": _line(event.get("summary")),
        "location": _line(event.get("location")),
        **_times(event),
        "organizer": _line(mapping(event.get("organizer")).get("email")),
        "attendee_count": len(attendees),
        "recurring_event_id": _line(event.get("recurringEventId")),
        "html_link": _line(event.get("htmlLink")),
    }


def whole_event(reply: Reply, value: Any) -> dict[str, Any]:
    """One event with everything that is told of it."""
    event = _event(reply, value)
    attendees = [_attendee(each) for each in map(mapping, listed(event.get("attendees")))]
    description = event.get("description")
    return {
        **brief_event(reply, value),
        "is_series": is_series(event),
        "description": description[:_MAX_TEXT] if isinstance(description, str) else None,
        "attendees": [each for each in attendees if each["address"] is not None][:MAX_ATTENDEES],
        "are_attendees_complete": event.get("attendeesOmitted") is not True and len(attendees) <= MAX_ATTENDEES,
        "updated": _line(event.get("updated")),
    }


def is_series(event: Mapping[str, Any]) -> bool:
    """Whether this is a recurring event itself, and no occurrence of one."""
    return bool(event.get("recurrence"))


def written_event(reply: Reply, value: Any) -> dict[str, Any]:
    """What is told of an event that was made or changed: what Google gave it, and when it is."""
    event = _event(reply, value)
    return {
        "id": event["id"],
        "etag": _line(event.get("etag")),
        "status": _status(event),
        "start": _times(event)["start"],
        "end": _times(event)["end"],
        "attendee_count": len(listed(event.get("attendees"))),
        "html_link": _line(event.get("htmlLink")),
    }


def event_page(reply: Reply) -> tuple[list[dict[str, Any]], str | None]:
    """The events of a page and what the next one is called."""
    value = reply.value
    if not isinstance(value, dict) or not isinstance(value.get("items"), list) or len(value["items"]) > _MAX_EVENTS:
        malformed(reply)
    return [brief_event(reply, each) for each in value["items"]], _line(value.get("nextPageToken"))


def busy_times(reply: Reply, named: list[str]) -> list[dict[str, Any]]:
    """For each calendar that was asked about, in that order: when it is busy, or why nobody can tell."""
    value = reply.value
    if not isinstance(value, dict) or not isinstance(value.get("calendars"), dict):
        malformed(reply)
    return [_busy(name, value["calendars"].get(name)) for name in named]


def _busy(name: str, value: Any) -> dict[str, Any]:
    """A calendar that is not answered for is not free: it is said that nothing is known."""
    told = mapping(value)
    errors, busy = listed(told.get("errors")), told.get("busy")
    if errors or not isinstance(busy, list):
        reason = mapping(errors[0]).get("reason") if errors else None
        return {"calendar": name, "busy": [], "error": _BUSY_ERRORS.get(str(reason), "unknown")}
    spans = [{"start": _line(each.get("start")), "end": _line(each.get("end"))} for each in map(mapping, busy)]
    if len(spans) > _MAX_BUSY or any(span["start"] is None or span["end"] is None for span in spans):
        return {"calendar": name, "busy": [], "error": "unknown"}
    return {"calendar": name, "busy": spans, "error": None}


_BUSY_ERRORS = {"notFound": "not_found", "forbidden": "forbidden", "tooManyCalendarsRequested": "too_many"}


def _event(reply: Reply, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str) or not value["id"]:
        malformed(reply)
    return value


def _status(event: Mapping[str, Any]) -> str | None:
    status = event.get("status")
    return status if isinstance(status, str) and status in _STATUSES else None


def _times(event: Mapping[str, Any]) -> dict[str, Any]:
    start, end = mapping(event.get("start")), mapping(event.get("end"))
    return {
        "start": _line(start.get("dateTime")) or _line(start.get("date")),
        "end": _line(end.get("dateTime")) or _line(end.get("date")),
        "is_all_day": "date" in start and "dateTime" not in start,
        "time_zone": _line(start.get("timeZone")),
    }


def _attendee(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "address": _line(value.get("email")),
        "name": _line(value.get("displayName")),
        "response": _RESPONSES.get(str(value.get("responseStatus"))),
        "is_optional": value.get("optional") is True,
    }


def _line(value: Any) -> str | None:
    return value[:_MAX_LINE] if isinstance(value, str) else None
