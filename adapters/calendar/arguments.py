"""What an agent sends, and what becomes of it before policy sees it."""

from typing import Any, Literal, NotRequired, TypedDict

from adapters.base import ArgumentProblem
from adapters.calendar import fields
from adapters.calendar.fields import issue
from adapters.calendar.times import read_window
from adapters.transport.cursors import with_page

Updates = Literal["all", "external_only", "none"]
DEFAULT_PAGE = 25
MAX_PAGE = 100
MAX_LIST_DAYS = 366
MAX_BUSY_DAYS = 62
MAX_CALENDARS = 50
MAX_QUERY = 200

_CHANGEABLE = ("summary", "description", "location", "start", "attendees")


class ListArguments(TypedDict):
    """Of `list_events`."""

    time_min: str
    time_max: str
    calendar_id: NotRequired[str]
    query: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class GetArguments(TypedDict):
    """Of `get_event`."""

    event_id: str
    calendar_id: NotRequired[str]


class CreateArguments(TypedDict):
    """Of `create_event`."""

    summary: str
    start: str
    end: str
    send_updates: Updates
    calendar_id: NotRequired[str]
    time_zone: NotRequired[str]
    description: NotRequired[str]
    location: NotRequired[str]
    attendees: NotRequired[list[str]]


class UpdateArguments(TypedDict):
    """Of `update_event`. What is left out stays as it is."""

    event_id: str
    etag: str
    send_updates: Updates
    calendar_id: NotRequired[str]
    summary: NotRequired[str]
    start: NotRequired[str]
    end: NotRequired[str]
    time_zone: NotRequired[str]
    description: NotRequired[str]
    location: NotRequired[str]
    attendees: NotRequired[list[str]]
    whole_series: NotRequired[bool]


class CancelArguments(TypedDict):
    """Of `cancel_event`."""

    event_id: str
    send_updates: Updates
    calendar_id: NotRequired[str]
    whole_series: NotRequired[bool]


class FreeBusyArguments(TypedDict):
    """Of `free_busy`."""

    time_min: str
    time_max: str
    calendars: list[str]


def prepare_list(arguments: dict[str, Any]) -> dict[str, Any]:
    """The calendar, a window, what to look for, and which page of it."""
    issues: fields.Issues = []
    window = read_window(arguments["time_min"], arguments["time_max"], MAX_LIST_DAYS, issues)
    query = fields.text(arguments, "query", MAX_QUERY, issues)
    size = arguments.get("limit", DEFAULT_PAGE)
    if not 1 <= size <= MAX_PAGE:
        issues.append(issue("/limit", "range", f"`limit` must be from 1 to {MAX_PAGE}."))
    prepared = {"calendar_id": fields.calendar(arguments, issues), "query": query or None, "limit": size}
    start, end = _raised(issues, window)
    told = {**prepared, "time_min": start, "time_max": end, "cursor": arguments.get("cursor")}
    return with_page("list_events", told)


def prepare_get(arguments: dict[str, Any]) -> dict[str, Any]:
    """The calendar and the event."""
    issues: fields.Issues = []
    prepared = fields.event(arguments, issues)
    _raised(issues, prepared)
    return prepared


def prepare_create(arguments: dict[str, Any]) -> dict[str, Any]:
    """The event, everybody whom it invites with their domains, and whether invitations are sent."""
    issues: fields.Issues = []
    prepared = {"calendar_id": fields.calendar(arguments, issues), **fields.content(arguments, issues)}
    if prepared["summary"] == "":
        issues.append(issue("/summary", "min_length", "`summary` must say something."))
    people = {"attendees": [], "attendee_domains": [], **fields.people(arguments, issues)}
    sends = arguments["send_updates"] != "none" and bool(people["attendees"])
    _raised(issues, prepared)
    return {**prepared, **people, "send_updates": arguments["send_updates"], "sends_invitations": sends}


def prepare_update(arguments: dict[str, Any]) -> dict[str, Any]:
    """What is to change, None for what stays; `changes` names it. Whom an unchanged list invites is not known here,
    so every update that is not silent counts as one that sends.
    """
    issues: fields.Issues = []
    which = {**fields.event(arguments, issues), "etag": fields.etag(arguments, issues)}
    prepared = {**which, **fields.content(arguments, issues)}
    people = {"attendees": None, "attendee_domains": None, **fields.people(arguments, issues)}
    changes = sorted(name for name in _CHANGEABLE if {**prepared, **people}[name] is not None)
    if not changes and not issues:
        issues.append(issue("/summary", "min_properties", f"Give at least one of {', '.join(_CHANGEABLE)}."))
    _raised(issues, prepared)
    updates = arguments["send_updates"]
    said = {"changes": changes, "send_updates": updates, "sends_invitations": updates != "none"}
    return {**prepared, **people, **said, **_series(arguments), "recipients": people["attendees"] or []}


def prepare_cancel(arguments: dict[str, Any]) -> dict[str, Any]:
    """The event, and whether those who were invited are told."""
    updates = arguments["send_updates"]
    said = {"send_updates": updates, "sends_invitations": updates != "none"}
    return {**prepare_get(arguments), **said, **_series(arguments)}


def _series(arguments: dict[str, Any]) -> dict[str, bool]:
    """Whether a recurring event is meant with all its occurrences: for policy to see, and not the default."""
    return {"whole_series": arguments.get("whole_series", False) is True}


def prepare_free_busy(arguments: dict[str, Any]) -> dict[str, Any]:
    """A window, and whose calendars."""
    issues: fields.Issues = []
    window = read_window(arguments["time_min"], arguments["time_max"], MAX_BUSY_DAYS, issues)
    given = enumerate(arguments["calendars"])
    named = [fields.calendar_id(text, f"/calendars/{index}", issues) for index, text in given]
    if not 1 <= len(named) <= MAX_CALENDARS:
        issues.append(issue("/calendars", "items", f"`calendars` must name from 1 to {MAX_CALENDARS}."))
    start, end = _raised(issues, window)
    return {"calendars": list(dict.fromkeys(named)), "time_min": start, "time_max": end}


def _raised(issues: fields.Issues, value: Any) -> Any:
    """The value, when nothing is wrong."""
    if issues or value is None:
        raise ArgumentProblem(*issues)
    return value
