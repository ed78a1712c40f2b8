"""What a vendor's API answers, and what it means."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import orjson

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.failures import status_error
from adapters.transport.messages import Response
from adapters.transport.retry import MAX_RETRY_AFTER_SECONDS

Words = Mapping[int, tuple[ErrorKind, str]]
"""By HTTP status: the kind of error and our own sentence for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer with any status. `value` is the parsed JSON; None when there is none."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    value: Any = field(repr=False)
    happened: Happened
    """What the status alone says of the effect."""
    retry_after_seconds: float | None = None
    attempts: int = 1

    def error(
        self, kind: ErrorKind, message: str, *, happened: Happened | None = None, wait: float | None = None
    ) -> AdapterError:
        """The answer as an error, in our own words: nothing of what the vendor says may be in the message."""
        return AdapterError(
            kind,
            message,
            happened=self.happened if happened is None else happened,
            fault=Fault.ERROR if kind is ErrorKind.UNAVAILABLE else None,
            retry_after_seconds=clamped(self.retry_after_seconds if wait is None else wait),
            attempts=self.attempts,
        )


def judge_by_status(reply: Reply) -> AdapterError | None:
    """The error that an HTTP status is; None for a 2xx."""
    return by_status(reply, {})


def by_status(reply: Reply, words: Words) -> AdapterError | None:
    """The error that an HTTP status is, in the vendor's own terms where `words` has them; None for a 2xx."""
    if 200 <= reply.status < 300:
        return None
    kind, message = words.get(reply.status) or _WORDS.get(reply.status) or (None, "")
    if kind is not None:
        return reply.error(kind, message)
    error = status_error(reply.status, reply.happened, reply.retry_after_seconds)
    assert error is not None
    error.attempts = reply.attempts
    return error


_WORDS: Words = {
    400: (ErrorKind.INVALID, "The vendor does not take these arguments; check each against the tool's description."),
    401: (
        ErrorKind.NEEDS_AUTHORISATION,
        "The vendor does not accept the connection's credential; its operator has to authorise the connection again.",
    ),
    403: (ErrorKind.FORBIDDEN, "The connection's account may not do this at the vendor; an operator can extend it."),
    404: (ErrorKind.NOT_FOUND, "The vendor knows nothing by this name, or hides it from the connection's account."),
    409: (ErrorKind.CONFLICT, "It was changed meanwhile, or is there already; read it again before the next try."),
    422: (ErrorKind.INVALID, "The vendor does not take these arguments; check each against the tool's description."),
    429: (ErrorKind.RATE_LIMITED, "The vendor asks for fewer calls of this account; wait before the next one."),
}


def malformed(reply: Reply) -> NoReturn:
    """Raise what an answer is that lacks what it must have."""
    raise AdapterError(
        ErrorKind.MALFORMED,
        "The vendor's answer lacks what it should have.",
        happened=reply.happened,
        fault=Fault.MALFORMED,
        attempts=reply.attempts,
    )


def read_reply(response: Response) -> Reply:
    """The answer with its JSON. Raises `AdapterError` for a 2xx that cannot be used: `too_large`, `malformed`."""
    value = None
    is_good = 200 <= response.status < 300
    if response.cut is not None and is_good:
        message = "The vendor's answer is larger than can be taken; ask for less at once."
        raise _unread(response, ErrorKind.TOO_LARGE, message)
    if response.body.strip():
        try:
            value = orjson.loads(response.body)
        except ValueError as error:
            if is_good:  # of an error, its status is enough
                raise _unread(response, ErrorKind.MALFORMED, "The vendor's answer cannot be read.") from error
    return Reply(
        status=response.status,
        headers=response.headers,
        value=value,
        happened=response.happened,
        retry_after_seconds=response.retry_after_seconds,
        attempts=response.attempts,
    )


def _unread(response: Response, kind: ErrorKind, message: str) -> AdapterError:
    """Nothing is known by an answer that was not read: its status may be a proxy's, with a page to sign in on."""
    happened = Happened.UNKNOWN if response.happened is Happened.YES else response.happened
    return AdapterError(kind, message, happened=happened, fault=Fault.MALFORMED, attempts=response.attempts)


def clamped(seconds: float | None) -> float | None:
    """A finite wait of a day at most. What is no number is none."""
    if seconds is None or seconds != seconds:  # noqa: PLR0124 - so is not-a-number told
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS)
