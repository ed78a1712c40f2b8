"""Sentry's JSON as outputs: small, with every property, and without the people whom an error happened to.

Events hold who was signed in, from which address, with which cookies and variables. None of it is read here.
"""

from collections.abc import Mapping
from typing import Any

from adapters.transport.replies import Reply, malformed
from adapters.transport.values import mapping, mappings

MAX_TAGS = 50
MAX_EXCEPTIONS = 5
MAX_FRAMES = 20
"""Of each exception: the innermost."""
_MAX_TEXT = 1000
_MAX_ITEMS = 100


def issues(reply: Reply) -> list[dict[str, Any]]:
    """The issues of a page."""
    return [_issue(one) for one in _items(reply) if _id(one.get("id"))]


def issue(reply: Reply) -> dict[str, Any]:
    """One issue, with more of it."""
    found = _essential(reply, "id")
    return {
        **_issue(found),
        "platform": _text(found.get("platform")),
        "assigned_to": _text(mapping(found.get("assignedTo")).get("name")),
        "comments": _count(found.get("numComments")),
        "first_release": _text(mapping(found.get("firstRelease")).get("version")),
        "last_release": _text(mapping(found.get("lastRelease")).get("version")),
    }


def state(reply: Reply) -> dict[str, Any]:
    """An issue's name and status."""
    found = _essential(reply, "id", "status")
    return {"issue": found["id"], "short_id": _text(found.get("shortId")), "status": found["status"]}


def events(reply: Reply) -> list[dict[str, Any]]:
    """The events of a page."""
    return [_event(one) for one in _items(reply) if _id(one.get("eventID"))]


def event(reply: Reply) -> dict[str, Any]:
    """One event with what went wrong in it."""
    found = _essential(reply, "eventID")
    tags = _tags(found.get("tags"))
    known = {tag["key"]: tag["value"] for tag in tags}
    return {
        **_event(found),
        "issue": _id(found.get("groupID")),
        "level": known.get("level"),
        "environment": known.get("environment"),
        "release": known.get("release"),
        "tags": tags,
        "exceptions": _exceptions(found.get("entries")),
        "previous_event": _id(found.get("previousEventID")),
        "next_event": _id(found.get("nextEventID")),
    }


def comment(reply: Reply) -> str:
    """The id of a comment."""
    return str(_essential(reply, "id")["id"])


def _issue(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one["id"],
        "short_id": _text(one.get("shortId")),
        "title": _text(one.get("title")),
        "culprit": _text(one.get("culprit")),
        "level": _text(one.get("level")),
        "status": _text(one.get("status")),
        "project": _text(mapping(one.get("project")).get("slug")),
        "events": _count(one.get("count")),
        "users": _count(one.get("userCount")),
        "first_seen": _text(one.get("firstSeen")),
        "last_seen": _text(one.get("lastSeen")),
        "url": _text(one.get("permalink")),
    }


def _event(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one["eventID"],
        "title": _text(one.get("title")),
        "message": _text(one.get("message")),
        "culprit": _text(one.get("culprit")),
        "platform": _text(one.get("platform")),
        "occurred_at": _text(one.get("dateCreated")),
    }


def _tags(value: object) -> list[dict[str, str]]:
    """Without those that name a person."""
    found = [(_text(one.get("key")), _text(one.get("value"))) for one in mappings(value)]
    return [{"key": key, "value": text} for key, text in found if key and text and key.partition(".")[0] != "user"][
        :MAX_TAGS
    ]


def _exceptions(entries: object) -> list[dict[str, Any]]:
    values = [
        value
        for entry in mappings(entries)
        if entry.get("type") == "exception"
        for value in mappings(mapping(entry.get("data")).get("values"))
    ]
    return [_exception(value) for value in values[-MAX_EXCEPTIONS:]]


def _exception(one: Mapping[str, Any]) -> dict[str, Any]:
    frames = mappings(mapping(one.get("stacktrace")).get("frames"))
    return {
        "type": _text(one.get("type")),
        "value": _text(one.get("value")),
        "frames": [_frame(frame) for frame in frames[-MAX_FRAMES:]],
    }


def _frame(one: Mapping[str, Any]) -> dict[str, Any]:
    """Where it was, without the variables that were there."""
    return {
        "file": _text(one.get("filename")) or _text(one.get("module")),
        "line": _count(one.get("lineNo")),
        "function": _text(one.get("function")),
        "in_app": one.get("inApp") is True,
    }


def _items(reply: Reply) -> list[Mapping[str, Any]]:
    if not isinstance(reply.value, list):
        malformed(reply)
    return mappings(reply.value)[:_MAX_ITEMS]


def _essential(reply: Reply, *names: str) -> Mapping[str, Any]:
    found = mapping(reply.value)
    if not all(_id(found.get(name)) for name in names):
        malformed(reply)
    return found


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 100 else None


def _text(value: object) -> str | None:
    return value[:_MAX_TEXT] if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    """A number, which Sentry also writes as a string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 15:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
