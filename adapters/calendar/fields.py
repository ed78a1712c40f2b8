"""Single arguments, read strictly: ids, texts, times and people. What is wrong is added to `issues`."""

import re
from collections.abc import Mapping
from typing import Any

from adapters.base import ArgumentIssue
from adapters.calendar.people import read_people
from adapters.calendar.times import read_span, read_zone

PRIMARY = "primary"
MAX_SUMMARY = 1024
MAX_DESCRIPTION = 8192
MAX_LOCATION = 1024

_EVENT_ID = re.compile(r"[A-Za-z0-9_@.:-]{1,1024}", re.ASCII)
_ETAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,200}"', re.ASCII)
_MAX_CALENDAR_ID = 254
Issues = list[ArgumentIssue]


def content(arguments: Mapping[str, Any], issues: Issues) -> dict[str, Any]:
    """What both a new event and a changed one may say; None for what is not given."""
    said = {
        "summary": text(arguments, "summary", MAX_SUMMARY, issues),
        "description": text(arguments, "description", MAX_DESCRIPTION, issues, has_lines=True),
        "location": text(arguments, "location", MAX_LOCATION, issues),
    }
    return {**said, **_times(arguments, issues)}


def _times(arguments: Mapping[str, Any], issues: Issues) -> dict[str, Any]:
    start, end, name = (arguments.get(part) for part in ("start", "end", "time_zone"))
    zone = read_zone(name, issues)
    nothing = {"start": None, "end": None, "time_zone": None, "is_all_day": None, "duration_minutes": None}
    if start is None and end is None and name is None:
        return nothing
    if start is None or end is None:
        issues.append(issue("/start", "both", "Give `start` and `end` together, with `time_zone` if at all."))
        return nothing
    span = read_span(start, end, zone, issues)
    if span is None:
        return nothing
    if span.is_all_day and name is not None:
        issues.append(issue("/time_zone", "all_day", "An event that lasts all day has no `time_zone`."))
    when = {"start": span.start, "end": span.end, "time_zone": zone}
    return {**when, "is_all_day": span.is_all_day, "duration_minutes": span.minutes}


def people(arguments: Mapping[str, Any], issues: Issues) -> dict[str, Any]:
    """Whom it invites, and the domains they are in; empty when nothing is said of that."""
    if arguments.get("attendees") is None:
        return {}
    found = read_people(arguments["attendees"], "/attendees", issues)
    return {"attendees": list(found.addresses), "attendee_domains": found.domains}


def event(arguments: Mapping[str, Any], issues: Issues) -> dict[str, Any]:
    """Which event, of which calendar."""
    event_id = str(arguments["event_id"])
    if not _EVENT_ID.fullmatch(event_id) or not event_id.strip("."):
        message = "`event_id` is no event's id; use the `id` of an event as it was told."
        issues.append(issue("/event_id", "event_id", message))
    return {"calendar_id": calendar(arguments, issues), "event_id": event_id}


def etag(arguments: Mapping[str, Any], issues: Issues) -> str:
    """The version of an event that the agent has seen."""
    given = str(arguments["etag"])
    if not _ETAG.fullmatch(given):
        message = "`etag` is none; use the `etag` of the event as it was told, with its quotation marks."
        issues.append(issue("/etag", "etag", message))
    return given


def calendar(arguments: Mapping[str, Any], issues: Issues) -> str:
    """Which calendar: the account's own when none is named."""
    return calendar_id(arguments.get("calendar_id", PRIMARY), "/calendar_id", issues)


def calendar_id(given: str, path: str, issues: Issues) -> str:
    """A calendar's id: opaque, but nothing that leads elsewhere in a path. An address is in lower case, as Google reads
    it: a rule about one calendar must not be passed by in capitals.
    """
    is_plain = given.isascii() and given.isprintable() and not set(given) & set(" /\\?%")
    if not is_plain or not given.strip(".") or len(given) > _MAX_CALENDAR_ID:
        issues.append(issue(path, "calendar_id", "This is no calendar's id; use `primary`, an address, or an id."))
    return given.lower() if "@" in given else given


def text(arguments: Mapping[str, Any], name: str, most: int, issues: Issues, *, has_lines: bool = False) -> str | None:
    """A text without control characters, line breaks as line feeds where `has_lines`; None when it is not given."""
    given = arguments.get(name)
    if given is None:
        return None
    lines = str(given).replace("\r\n", "\n").replace("\r", "\n")
    plain = lines.replace("\n", " ").replace("\t", " ") if has_lines else lines
    if len(lines) > most:
        issues.append(issue(f"/{name}", "max_length", f"`{name}` may have {most} characters at most."))
    elif any(ord(each) < 32 or 0x7F <= ord(each) < 0xA0 or 0xD800 <= ord(each) < 0xE000 for each in plain):
        issues.append(issue(f"/{name}", "control_character", f"`{name}` must not hold control characters."))
    return lines.strip()


def issue(path: str, rule: str, message: str) -> ArgumentIssue:
    """One thing that is wrong."""
    return ArgumentIssue(path=path, rule=rule, message=message)
