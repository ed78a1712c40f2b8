"""Google's errors as ours. Its limits come as 403 as well as 429, and only the reason tells a limit from a refusal."""

from collections.abc import Iterator

from adapters.base import AdapterError, ErrorKind
from adapters.transport.api import Pause
from adapters.transport.replies import Reply, by_status
from adapters.transport.values import listed, mapping, part


class Gone(AdapterError):  # noqa: N818 - of an event, not of a failure
    """Google says that the event was deleted before, and not only that it cannot be found."""


class Taken(AdapterError):  # noqa: N818 - of an id
    """Google says that there is, or was, an event with the id of the new one."""


_LIMIT = (ErrorKind.RATE_LIMITED, "Google asks for fewer calls of this account; wait before the next one.")
_QUOTA = (
    ErrorKind.RATE_LIMITED,
    "The account has used up what Google allows of its calendar for now; come back in some hours.",
)
_SCOPE = (
    ErrorKind.NEEDS_AUTHORISATION,
    "The connection was not authorised for this; its operator has to authorise it again with the scope it needs.",
)
_OFF = (
    ErrorKind.FORBIDDEN,
    "The Calendar API is switched off for the connection's project; an operator can turn it on.",
)
_ORGANIZER = (ErrorKind.FORBIDDEN, "Only the organiser of the event may change this about it.")
_GONE = (ErrorKind.NOT_FOUND, "The event was deleted.")
_TAKEN = (ErrorKind.CONFLICT, "An event of this call seems to be there already; look for it before the next try.")
_CURSOR = (ErrorKind.INVALID, "The cursor is not good any more; leave it out to begin the list again.")
_BY_REASON = {
    **dict.fromkeys(("rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"), _LIMIT),
    **dict.fromkeys(
        ("quotaExceeded", "dailyLimitExceeded", "calendarUsageLimitsExceeded", "variableTermLimitExceeded"), _QUOTA
    ),
    **dict.fromkeys(("insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"), _SCOPE),
    **dict.fromkeys(("accessNotConfigured", "SERVICE_DISABLED"), _OFF),
    **dict.fromkeys(("forbiddenForNonOrganizer", "cannotChangeOrganizer"), _ORGANIZER),
    "requiredAccessLevel": (
        ErrorKind.FORBIDDEN,
        "The connection's account may only read this calendar; an operator can have it shared with more rights.",
    ),
    "timeRangeEmpty": (ErrorKind.INVALID, "The time range is empty; its end must be later than its start."),
    "timeRangeTooLong": (ErrorKind.INVALID, "The time range is longer than Google takes; ask for less at once."),
    "invalidAttendee": (ErrorKind.INVALID, "Google does not take one of the attendees; check each address."),
    "deleted": _GONE,
    "duplicate": _TAKEN,
    "conditionNotMet": (ErrorKind.CONFLICT, "The event was changed meanwhile; get it again and use its new etag."),
}
_OWN_KINDS = {"deleted": (Gone, _GONE), "duplicate": (Taken, _TAKEN)}
_WORDS = {
    404: (ErrorKind.NOT_FOUND, "There is no such calendar or event, or the connection's account may not see it."),
    410: _GONE,
    412: _BY_REASON["conditionNotMet"],
}
_MAX_REASONS = 20


def judge(reply: Reply) -> AdapterError | None:
    """The error that an answer is; None when all is well."""
    if 200 <= reply.status < 300:
        return None
    if reply.status < 500:  # what broke is judged by its status, whatever it calls itself
        if _is_cursor(reply):
            return reply.error(*_CURSOR)
        known = next((reason for reason in reasons(reply) if reason in _BY_REASON), "")
        if known in _OWN_KINDS:
            kind, words = _OWN_KINDS[known]
            return kind(*words, happened=reply.happened, attempts=reply.attempts)
        if known:
            return reply.error(*_BY_REASON[known])
    return by_status(reply, _WORDS)


def pauses(reply: Reply, _now: float) -> Iterator[Pause]:
    """A limit that comes as 403 is a limit: the wait that it names holds for the account as that of a 429 does."""
    error = judge(reply) if reply.status == 403 else None
    if error is not None and error.kind is ErrorKind.RATE_LIMITED and reply.retry_after_seconds:
        yield Pause(seconds=reply.retry_after_seconds)


def reasons(reply: Reply) -> list[str]:
    """Why Google says that it does not do it, by the names it has for that; empty when it says nothing readable."""
    error = part(mapping(reply.value), "error")
    entries = [each for part in ("errors", "details") for each in listed(error.get(part))]
    found = [each.get("reason") for each in entries[:_MAX_REASONS] if isinstance(each, dict)]
    return [reason for reason in found if isinstance(reason, str)]


def _is_cursor(reply: Reply) -> bool:
    """Of a list, it is the page that Google does not know any more."""
    entries = [each for each in listed(part(mapping(reply.value), "error").get("errors")) if isinstance(each, dict)]
    return reply.status in (400, 410) and any(each.get("location") == "pageToken" for each in entries)
