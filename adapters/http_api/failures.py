"""What a service's statuses mean, in words that fit every service."""

from adapters.base import AdapterError, ErrorKind
from adapters.transport.replies import Reply, Words, by_status

_ELSEWHERE = (
    ErrorKind.MALFORMED,
    "The service sends elsewhere, where this gateway does not go; an operator has to correct the tool's row.",
)
_ARGUMENTS = (
    ErrorKind.INVALID,
    "The service does not take these arguments; check each against the tool's description.",
)
_NOT_SO = (
    ErrorKind.INVALID,
    "The service cannot be asked in this way; trying again does not help. An operator has to correct the tool's row.",
)
_CHANGED = (
    ErrorKind.CONFLICT,
    "It was changed meanwhile, or is there already; read it again before the next try.",
)
_WORDS: Words = {
    **dict.fromkeys((300, 301, 302, 303, 307, 308), _ELSEWHERE),
    **dict.fromkeys((400, 422), _ARGUMENTS),
    401: (
        ErrorKind.NEEDS_AUTHORISATION,
        "The service does not accept who asks; the connection's operator has to authorise it again.",
    ),
    403: (ErrorKind.FORBIDDEN, "The connection's account may not do this at the service; an operator can extend it."),
    404: (ErrorKind.NOT_FOUND, "The service knows nothing by this name, or hides it from the connection's account."),
    410: (ErrorKind.NOT_FOUND, "The service had this once and has it no more."),
    **dict.fromkeys((405, 406, 415, 501), _NOT_SO),
    **dict.fromkeys((409, 412), _CHANGED),
    **dict.fromkeys((413, 414, 431), (ErrorKind.INVALID, "This is too long for the service; shorten it.")),
    423: (ErrorKind.CONFLICT, "Somebody else holds this at the service; try again later."),
    429: (ErrorKind.RATE_LIMITED, "The service asks for fewer calls of this account; wait before the next one."),
}


def judge(reply: Reply) -> AdapterError | None:
    """The error that an answer is; None for a 2xx. Nothing of what the service says is in it."""
    return by_status(reply, _WORDS)
