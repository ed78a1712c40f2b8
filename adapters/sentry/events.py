"""Sentry's events, read by an allow-list, and without the people whom an error happened to: no user, no address, no
request, no variable.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from adapters.transport.events import address, event_of, matching, moment, named, text, whole, words
from adapters.transport.values import listed, mappings, part
from adapters.webhooks import Event

Json = dict[str, Any]

PARTS: Mapping[str, str] = {
    "issue": "issue",
    "comment": "comment",
    "error": "error",
    "event_alert": "event",
    "metric_alert": "metric_alert",
}
"""By what Sentry calls a resource: the thing that is in its data."""
ACTIONS: Mapping[str, Mapping[str, str]] = {
    "issue": {
        "created": "issue.created",
        "resolved": "issue.resolved",
        "assigned": "issue.assigned",
        "archived": "issue.archived",
        "ignored": "issue.archived",  # as it was called once
        "unresolved": "issue.unresolved",
    },
    "comment": {action: f"comment.{action}" for action in ("created", "updated", "deleted")},
    "error": {"created": "error.created"},
    "event_alert": {"triggered": "event_alert.triggered"},
    "metric_alert": {action: f"metric_alert.{action}" for action in ("critical", "warning", "resolved")},
}
"""By the resource and its action: the kind."""
KINDS = tuple(sorted({kind for actions in ACTIONS.values() for kind in actions.values()}))

_NUMBER = re.compile(r"[0-9]{1,30}")
_EVENT_ID = re.compile(r"[0-9a-f]{32}")
_TOLD_TAGS = ("environment", "release")


def read_event(body: Mapping[str, Any], resource: str, kind: str, event_id: str) -> Event:
    """The event of a body that has the part of its resource. Raises `DeliveryRefused` (malformed)."""
    subject, occurred_at, data = _READS[resource](part(body, "data"))
    return event_of(
        id=event_id,
        kind=kind,
        occurred_at=moment(occurred_at),
        subject=subject,
        data={
            "installation": text(part(body, "installation").get("uuid")),
            **data,
            "actor": named(body.get("actor"), "type", "name"),
        },
    )


def _issue(data: Mapping[str, Any]) -> tuple[str, object, Json]:
    issue = part(data, "issue")
    number = _number(issue.get("id"))
    return (
        number,
        # When it was resolved or assigned, Sentry does not say.
        issue.get("firstSeen") if issue.get("substatus") == "new" else None,
        {
            "issue": number,
            "short_id": text(issue.get("shortId")),
            "title": text(issue.get("title")),
            "culprit": text(issue.get("culprit")),
            "level": text(issue.get("level")),
            "status": text(issue.get("status")),
            "substatus": text(issue.get("substatus")),
            "priority": text(issue.get("priority")),
            "project": text(part(issue, "project").get("slug")),
            "assigned_to": text(part(issue, "assignedTo").get("name")),
            "events": _count(issue.get("count")),
            "users": _count(issue.get("userCount")),
            "first_seen": text(issue.get("firstSeen")),
            "last_seen": text(issue.get("lastSeen")),
            "url": address(issue.get("web_url")) or address(issue.get("permalink")),
        },
    )


def _comment(data: Mapping[str, Any]) -> tuple[str, object, Json]:
    number = _number(data.get("issue_id"))
    return (
        number,
        data.get("timestamp"),
        {
            "issue": number,
            "comment": _number(data.get("comment_id")),
            "project": text(data.get("project_slug")),
            "text": text(data.get("comment")),
        },
    )


def _error(data: Mapping[str, Any]) -> tuple[str, object, Json]:
    return _happened(part(data, "error"), {})


def _event_alert(data: Mapping[str, Any]) -> tuple[str, object, Json]:
    rule = text(data.get("triggered_rule")) or text(part(data, "issue_alert").get("title"))
    return _happened(part(data, "event"), {"rule": rule})


def _happened(event: Mapping[str, Any], more: Json) -> tuple[str, object, Json]:
    number, tags = _number(event.get("issue_id")), _tags(event.get("tags"))
    return (
        number,
        event.get("datetime"),
        {
            **more,
            "issue": number,
            "event": matching(event.get("event_id"), _EVENT_ID),
            "title": text(event.get("title")),
            "message": text(event.get("message")),
            "culprit": text(event.get("culprit")),
            "platform": text(event.get("platform")),
            "level": text(event.get("level")),
            "release": text(event.get("release")) or tags.get("release"),
            "environment": text(event.get("environment")) or tags.get("environment"),
            "exceptions": _exceptions(part(event, "exception").get("values")),
            "url": address(event.get("web_url")),
        },
    )


def _metric_alert(data: Mapping[str, Any]) -> tuple[str, object, Json]:
    alert = part(data, "metric_alert")
    rule = part(alert, "alert_rule")
    return (
        "",
        alert.get("date_closed") or alert.get("date_detected"),
        {
            "alert": _number(alert.get("identifier") or alert.get("id")),
            "rule": text(rule.get("name")),
            "title": text(data.get("description_title")),
            "text": text(data.get("description_text")),
            "query": text(rule.get("query")),
            "aggregate": text(rule.get("aggregate")),
            "environment": text(rule.get("environment")),
            "projects": words(alert.get("projects")),
            "started_at": text(alert.get("date_started")),
            "closed_at": text(alert.get("date_closed")),
            "url": address(data.get("web_url")),
        },
    )


def _exceptions(values: object) -> list[Json]:
    """The five outermost, and without their frames: what was in a variable may be anything."""
    return [{"type": text(one.get("type")), "value": text(one.get("value"))} for one in mappings(values)[-5:]]


def _tags(tags: object) -> dict[str, str]:
    """Those that are told. A tag is a pair."""
    found: dict[str, str] = {}
    for tag in listed(tags):
        match tag:
            case [str(name), str(value)] if name in _TOLD_TAGS:
                found[name] = value
    return found


def _number(value: object) -> str:
    """An id that is a number, which Sentry also writes as a string. Raises `DeliveryRefused` (malformed)."""
    found = whole(value)
    return matching(value if found is None else str(found), _NUMBER)


def _count(value: object) -> int | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value) and len(value) <= 15:
        return int(value)
    return whole(value)


_READS: Mapping[str, Callable[[Mapping[str, Any]], tuple[str, object, Json]]] = {
    "issue": _issue,
    "comment": _comment,
    "error": _error,
    "event_alert": _event_alert,
    "metric_alert": _metric_alert,
}
"""By the resource: the issue that it is about, when it happened, and the data."""
