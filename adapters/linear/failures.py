"""What Linear's answers mean when they are none: GraphQL errors, whatever the status is, and statuses without them."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.linear.graphql import NOT_FOUND
from adapters.linear.limits import is_rate_limited, wait_seconds
from adapters.transport.replies import Reply, by_status

_Meaning = tuple[ErrorKind, str]

_INVALID: _Meaning = (
    ErrorKind.INVALID,
    "Linear does not take these arguments; check that each id is of the right kind and belongs to the issue's team.",
)
_MISSING: _Meaning = (ErrorKind.NOT_FOUND, NOT_FOUND)
_THERE: _Meaning = (ErrorKind.CONFLICT, "Linear has this already; look at what is there before the next try.")
_LIMITED: _Meaning = (ErrorKind.RATE_LIMITED, "Linear asks for fewer or simpler calls of this account; wait.")
_UNKNOWN_ACCOUNT: _Meaning = (
    ErrorKind.NEEDS_AUTHORISATION,
    "Linear does not accept the connection's credential; its operator has to authorise the connection again.",
)
_FORBIDDEN: _Meaning = (
    ErrorKind.FORBIDDEN,
    "The connection's account may not do this in Linear; an operator can give it the scope or the team.",
)
_PLAN: _Meaning = (
    ErrorKind.FORBIDDEN,
    "The workspace's plan at Linear does not cover this; somebody who administers the workspace can change that.",
)
_FAULT: _Meaning = (ErrorKind.UNAVAILABLE, "Linear has a fault of its own; try again later.")

_MEANING: Mapping[str, _Meaning] = {
    "RATELIMITED": _LIMITED,
    "AUTHENTICATION_ERROR": _UNKNOWN_ACCOUNT,
    "UNAUTHENTICATED": _UNKNOWN_ACCOUNT,
    "FORBIDDEN": _FORBIDDEN,
    "FEATURE_NOT_ACCESSIBLE": _PLAN,
    "USAGE_LIMIT_EXCEEDED": _PLAN,
    "ENTITY_NOT_FOUND": _MISSING,
    "NOT_FOUND": _MISSING,
    "INPUT_ERROR": _INVALID,
    "INVALID_INPUT": _INVALID,
    "USER_ERROR": _INVALID,
    "BAD_USER_INPUT": _INVALID,
    "GRAPHQL_ERROR": _INVALID,
    "GRAPHQL_PARSE_FAILED": _INVALID,
    "GRAPHQL_VALIDATION_FAILED": _INVALID,
    "LOCK_TIMEOUT": _FAULT,
    "NETWORK_ERROR": _FAULT,
    "BOOTSTRAP_ERROR": _FAULT,
    "INTERNAL_ERROR": _FAULT,
    "INTERNAL_SERVER_ERROR": _FAULT,
}
"""By `extensions.code`, or by `extensions.type` (`feature not accessible`) in the same spelling."""


def judge(reply: Reply, now: float) -> AdapterError | None:
    """The error that an answer is; None when all is well. `now` is in seconds since the epoch."""
    errors = errors_of(reply.value)
    is_good, is_refusal = 200 <= reply.status < 300, 400 <= reply.status < 500 and reply.status != 408
    # 1. A limit, by whatever it is told. 2. Errors in a 200, or in a refusal. 3. A status.
    if reply.status == 429 or (is_rate_limited(reply) and (is_good or is_refusal)):
        happened = Happened.NO if is_refusal else _happened(reply, is_certain=True)
        return reply.error(*_LIMITED, happened=happened, wait=wait_seconds(reply, now))
    if errors and (is_good or is_refusal):
        return _of_errors(reply, errors, is_refusal=is_refusal)
    return by_status(reply, {})


def errors_of(value: Any) -> list[Mapping[str, Any]]:
    """The GraphQL errors of an answer, as far as they can be read."""
    errors = value.get("errors") if isinstance(value, Mapping) else None
    return [error for error in errors if isinstance(error, Mapping)] if isinstance(errors, list) else []


def _of_errors(reply: Reply, errors: Sequence[Mapping[str, Any]], *, is_refusal: bool) -> AdapterError | None:
    meaning = next((found for error in errors if (found := _meaning(error))), None)
    if meaning is None and is_refusal:
        return by_status(reply, {400: _INVALID})
    kind, message = meaning or _FAULT
    return reply.error(kind, message, happened=_happened(reply, is_certain=kind is not ErrorKind.UNAVAILABLE))


def _meaning(error: Mapping[str, Any]) -> _Meaning | None:
    """A text is read only where no code tells: that something is missing, or there already, is an INPUT_ERROR."""
    extensions = error.get("extensions")
    told = extensions if isinstance(extensions, Mapping) else {}
    named = [_MEANING.get(_spelled(told.get(key))) for key in ("code", "type")] + [
        _MEANING.get(_spelled(error.get("type")))
    ]
    found = next((meaning for meaning in named if meaning is not None), None)
    if found is not None and found is not _INVALID:
        return found
    text = f"{error.get('message')} {told.get('userPresentableMessage')}".lower()
    if "not found" in text or "could not find" in text:
        return _MISSING
    return _THERE if "already exists" in text or "conflict on insert" in text or "duplicate" in text else found


def _spelled(code: object) -> str:
    return code.upper().replace(" ", "_") if isinstance(code, str) else ""


def _happened(reply: Reply, *, is_certain: bool) -> Happened:
    """Of a write whose answer has errors: done when the data beside them says so, else not done if that `is_certain`.

    It never is of an error below the mutation itself: what came of one that was carried out is left out of the answer,
    whole, when a part of it that must be there cannot be read.
    """
    if reply.happened is not Happened.YES:
        return reply.happened
    data = reply.value.get("data") if isinstance(reply.value, Mapping) else None
    payloads = [one for one in data.values() if one is not None] if isinstance(data, Mapping) else []
    if any(map(_is_done, payloads)):
        return Happened.YES
    is_clear = all(map(_is_refused, payloads)) and not any(map(_is_below, errors_of(reply.value)))
    return Happened.NO if is_certain and is_clear else Happened.UNKNOWN


def _is_done(payload: Any) -> bool:
    if not isinstance(payload, Mapping) or payload.get("success") is False:
        return False
    return payload.get("success") is True or _has_something(payload)


def _is_refused(payload: Any) -> bool:
    return isinstance(payload, Mapping) and payload.get("success") is False and not _has_something(payload)


def _has_something(payload: Mapping[str, Any]) -> bool:
    return any(value is not None for name, value in payload.items() if name != "success")


def _is_below(error: Mapping[str, Any]) -> bool:
    """Whether it is about something in what the mutation returned, and not about the mutation."""
    path = error.get("path")
    return isinstance(path, list) and len(path) > 1
