"""What PostHog's answers mean when they are none.

https://posthog.com/docs/api: `{"type": …, "code": …, "detail": …, "attr": …}` with an HTTP status, of which 512 is its
own: a query that would take too long. What a query comes to is also told inside of a 200, as `query_status`.
"""

from collections.abc import Mapping
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.transport.replies import Reply, Words, by_status

_HEAVY = "PostHog gave the query up because it takes too long; ask for a shorter time or for less detail."
_WORDS: Words = {
    400: (
        ErrorKind.INVALID,
        "PostHog does not take these arguments; check the names of events and properties, and the dates.",
    ),
    402: (
        ErrorKind.FORBIDDEN,
        "The organisation's plan or quota at PostHog does not cover this; somebody who administers it can change that.",
    ),
    403: (
        ErrorKind.FORBIDDEN,
        "The connection's key may not do this at PostHog; an operator can give it the scope or the project.",
    ),
    404: (ErrorKind.NOT_FOUND, "The project has nothing by this id; list what there is, and check the id."),
    429: (ErrorKind.RATE_LIMITED, "PostHog asks for fewer queries of this project; wait before the next one."),
    503: (ErrorKind.UNAVAILABLE, "PostHog has too much to do right now; try again later."),
    504: (ErrorKind.UNAVAILABLE, _HEAVY),
    512: (ErrorKind.INVALID, _HEAVY),
}
_CAPTURE_WORDS: Words = {
    400: (ErrorKind.INVALID, "PostHog does not take this event; check its name, distinct_id and properties."),
    401: (
        ErrorKind.NEEDS_AUTHORISATION,
        "PostHog does not accept the connection's project_api_key; its operator has to correct that option.",
    ),
    402: (ErrorKind.FORBIDDEN, "The organisation's quota of events at PostHog is used up; nothing was recorded."),
    413: (ErrorKind.INVALID, "The event is too large for PostHog; leave properties out or shorten them."),
    429: (ErrorKind.RATE_LIMITED, "PostHog asks for fewer events; wait before the next one."),
}
_STATUS = frozenset({1, "1", "ok", "Ok", "OK"})


def judge(reply: Reply) -> AdapterError | None:
    """The error that an answer of the private API is; None when all is well."""
    told = query_status(reply.value)
    if 200 <= reply.status < 300 and (told.get("error") is True or _is_error(reply.value)):
        if told.get("error_message") or _is_error(reply.value):
            return reply.error(*_WORDS[400])
        return reply.error(ErrorKind.UNAVAILABLE, "PostHog failed at the query; try again later.")
    return by_status(reply, _WORDS)


def judge_capture(reply: Reply) -> AdapterError | None:
    """The error that an answer to an event is; None when it was taken. A 200 may say that it was thrown away."""
    error = by_status(reply, _CAPTURE_WORDS)
    if error is not None or reply.status == 204:
        return error
    told = reply.value if isinstance(reply.value, Mapping) else {}
    limited = told.get("quota_limited")
    if isinstance(limited, list) and "events" in limited:
        return reply.error(*_CAPTURE_WORDS[402], happened=Happened.NO)
    status = told.get("status")
    if not limited and isinstance(status, int | str) and not isinstance(status, bool) and status in _STATUS:
        return None
    message = "PostHog does not say that it took the event; it may have."
    return reply.error(ErrorKind.MALFORMED, message, happened=Happened.UNKNOWN)


def _is_error(value: Any) -> bool:
    """Whether a query's result is a text that says what is wrong, beside results that mean nothing then."""
    error = value.get("error") if isinstance(value, Mapping) and "results" in value else None
    return isinstance(error, str) and bool(error)


def query_status(value: Any) -> Mapping[str, Any]:
    """How far a query has come, when the answer says so; empty when it does not."""
    told = value.get("query_status") if isinstance(value, Mapping) else None
    return told if isinstance(told, Mapping) else {}
