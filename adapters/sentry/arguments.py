"""What agents send to Sentry's operations, and the form in which policy, approvers and Sentry see it."""

import re
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict

from adapters.sentry.marks import holds_mark
from adapters.transport.cursors import with_page
from adapters.transport.fields import Fields

PAGE = 20
MAX_PAGE = 100
MAX_TEXT = 10_000
Sort = Literal["last_seen", "first_seen", "events", "users"]
_NAMED_EVENTS = frozenset({"latest", "oldest", "recommended"})
_ISSUE = re.compile(r"[0-9]{1,20}|[A-Z0-9][A-Z0-9_-]{0,98}-[A-Z0-9]{1,15}")
_EVENT = re.compile(r"[0-9a-f]{32}")
_PROJECT = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")
_PERIOD = re.compile(r"[1-9][0-9]{0,2}[hdw]")
_ENVIRONMENT = re.compile(r"[^\x00-\x1f\x7f/\ud800-\udfff]{1,64}")


class IssuesArguments(TypedDict):
    """What an agent sends to `list_issues`."""

    query: NotRequired[str]
    project: NotRequired[str]
    environment: NotRequired[str]
    period: NotRequired[str]
    sort: NotRequired[Sort]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class IssueArguments(TypedDict):
    """What an agent sends to `get_issue` and `resolve_issue`."""

    issue: str


class EventsArguments(TypedDict):
    """What an agent sends to `list_events`."""

    issue: str
    limit: NotRequired[int]
    cursor: NotRequired[str]


class EventArguments(TypedDict):
    """What an agent sends to `get_event`."""

    issue: str
    event: NotRequired[str]


class CommentArguments(TypedDict):
    """What an agent sends to `comment_on_issue`."""

    issue: str
    text: str


def prepare_issues(arguments: dict[str, Any]) -> dict[str, Any]:
    """Which issues, with every default."""
    fields = Fields(arguments)
    query = "is:unresolved" if arguments.get("query") is None else str(arguments["query"]).strip()
    prepared = {
        "query": fields.sendable("query", query),
        "project": fields.optional("project", _PROJECT, "a project's slug, such as checkout-api"),
        "environment": fields.optional("environment", _ENVIRONMENT, "an environment's name, such as production"),
        "period": fields.optional("period", _PERIOD, "a time, such as 24h, 14d or 4w") or "14d",
        "sort": arguments.get("sort") or "last_seen",
        "limit": fields.limit(PAGE, MAX_PAGE),
        "cursor": arguments.get("cursor"),
    }
    return with_page("list_issues", fields.checked(prepared))


def prepare_issue(arguments: dict[str, Any]) -> dict[str, Any]:
    """The issue, by number or by short id in capitals."""
    fields = Fields(arguments)
    return fields.checked({"issue": _issue_id(fields, arguments)})


def prepare_events(arguments: dict[str, Any]) -> dict[str, Any]:
    """The issue, and which page."""
    fields = Fields(arguments)
    prepared = {
        "issue": _issue_id(fields, arguments),
        "limit": fields.limit(PAGE, MAX_PAGE),
        "cursor": arguments.get("cursor"),
    }
    return with_page("list_events", fields.checked(prepared))


def prepare_event(arguments: dict[str, Any]) -> dict[str, Any]:
    """The issue and the event, which is the latest when none is named."""
    fields = Fields(arguments)
    event = str(arguments.get("event") or "latest").replace("-", "").lower()
    if event not in _NAMED_EVENTS and not _EVENT.fullmatch(event):
        fields.issue("/event", "format", "`event` must be an event's id of 32 digits, or latest, oldest, recommended.")
    return fields.checked({"issue": _issue_id(fields, arguments), "event": event})


def prepare_comment(arguments: dict[str, Any]) -> dict[str, Any]:
    """The issue and the text, every line break in it as one line feed."""
    fields = Fields(arguments)
    text = str(arguments["text"]).replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > MAX_TEXT:
        fields.issue("/text", "max_length", f"`text` has more than {MAX_TEXT} characters.")
    if holds_mark(text):
        fields.issue("/text", "reserved", "`text` holds a mark that is the gateway's own; leave it out.")
    return fields.checked({"issue": _issue_id(fields, arguments), "text": fields.readable("text", text)})


def _issue_id(fields: Fields, arguments: Mapping[str, Any]) -> str:
    """Its number, or its short id in capitals."""
    text = str(arguments["issue"]).upper()
    if not _ISSUE.fullmatch(text):
        message = "`issue` must be an issue's number or its short id, such as CHECKOUT-API-1F."
        fields.issue("/issue", "format", message)
    return text
