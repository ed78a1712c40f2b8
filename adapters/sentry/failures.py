"""What Sentry's answers mean: by status, and by the code that some of its errors have."""

from adapters.base import AdapterError, Clock, ErrorKind, Happened
from adapters.sentry.limits import wait_of
from adapters.transport.replies import Reply, Words, by_status
from adapters.transport.values import mapping, word

_WORDS: Words = {
    400: (
        ErrorKind.INVALID,
        "Sentry does not take this search or these arguments; check them against the description.",
    ),
    401: (
        ErrorKind.NEEDS_AUTHORISATION,
        "Sentry does not accept the connection's token; its operator has to authorise the connection again.",
    ),
    403: (
        ErrorKind.FORBIDDEN,
        "The connection's token may not do this in Sentry; an operator can give it the scope event:write.",
    ),
    404: (
        ErrorKind.NOT_FOUND,
        "The connection's organization at Sentry has no such issue, event, project or environment; check the names.",
    ),
    410: (ErrorKind.INVALID, "Sentry does not offer this any more; trying again does not help. Tell an operator."),
    413: (ErrorKind.INVALID, "This is too long for Sentry; shorten it."),
}
_CODES: dict[str, tuple[ErrorKind, str]] = {
    "resource-moved": (
        ErrorKind.NOT_FOUND,
        "The organization or project has another name at Sentry now; an operator has to change the connection.",
    ),
    "sso-required": (
        ErrorKind.NEEDS_AUTHORISATION,
        "The organization at Sentry wants single sign-on; its operator has to give the connection another token.",
    ),
    "member-disabled-over-limit": (
        ErrorKind.FORBIDDEN,
        "The connection's account at Sentry is disabled, for the plan has too few seats; an operator can change that.",
    ),
}
_POSTED = ("You have already posted that comment.", '{"detail": "You have already posted that comment."}')
"""How Sentry says that it has this very comment: without a code, and with the object put into a text. No more and no
less, for a search that an agent wrote may be in what is said of it.
"""


class Judge:
    """Says what an answer is. `clock` tells how long a window of Sentry's limits still is."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __call__(self, reply: Reply) -> AdapterError | None:
        """The error that an answer is; None when all is well."""
        if 200 <= reply.status < 300:
            return _unreadable(reply)
        detail = reply.value.get("detail") if isinstance(reply.value, dict) else reply.value
        kind, message = _CODES.get(word(mapping(detail), "code"), (None, ""))
        if kind is not None and reply.status < 500:
            return reply.error(kind, message, happened=Happened.NO)
        if reply.status == 400 and detail in _POSTED:
            message = "Sentry has this comment already: it was made before."
            return reply.error(ErrorKind.CONFLICT, message, happened=Happened.YES)
        if reply.status == 429 and reply.retry_after_seconds is None:
            message = "Sentry wants fewer calls of this kind; wait before the next one."
            return reply.error(ErrorKind.RATE_LIMITED, message, wait=wait_of(reply, self._clock.now()))
        return by_status(reply, _WORDS)


def _unreadable(reply: Reply) -> AdapterError | None:
    """A change that is answered without an object may have been answered by somebody else."""
    if reply.happened is Happened.NO or isinstance(reply.value, dict):
        return None
    message = "Sentry's answer does not say whether it did this."
    return reply.error(ErrorKind.MALFORMED, message, happened=Happened.UNKNOWN)
