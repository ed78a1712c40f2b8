"""What a status of gRPC means: one table. No word of a service is repeated.

`NO` is what a service says that did nothing; whatever may have been done before it was said, and whatever was said by
somebody on the way, is `UNKNOWN`.
"""

from dataclasses import dataclass

import grpc

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.grpc_upstream.retry_info import retry_after

_TOO_LONG = "message larger than max"
_ANSWER_TOO_LONG = ("client: received message larger than max", "decompressed message larger than max")
"""What libraries say of sizes: there is no status of its own for them."""
_RESET = "rst_stream"
"""What this library says when no status came at all: it makes one of the reason why the stream was given up, such as
`RESOURCE_EXHAUSTED` of a connection that wants calm, which says nothing of what was done before.
"""


@dataclass(frozen=True, slots=True)
class _Meaning:
    kind: ErrorKind
    happened: Happened
    message: str
    fault: Fault | None = None


_AGAIN = "The service has a fault of its own; try again later."
_Code = grpc.StatusCode
_TABLE = {
    _Code.CANCELLED: _Meaning(ErrorKind.UNAVAILABLE, Happened.UNKNOWN, "The service broke the call off.", Fault.RESET),
    _Code.UNKNOWN: _Meaning(ErrorKind.UNAVAILABLE, Happened.UNKNOWN, _AGAIN, Fault.ERROR),
    _Code.INVALID_ARGUMENT: _Meaning(
        ErrorKind.INVALID, Happened.NO, "The service does not take these arguments; check them."
    ),
    _Code.DEADLINE_EXCEEDED: _Meaning(
        ErrorKind.DEADLINE, Happened.UNKNOWN, "The call's time was up before the service had answered.", Fault.TIMEOUT
    ),
    _Code.NOT_FOUND: _Meaning(
        ErrorKind.NOT_FOUND, Happened.NO, "The service has nothing of this name; check the arguments."
    ),
    _Code.ALREADY_EXISTS: _Meaning(ErrorKind.CONFLICT, Happened.NO, "The service has such a thing already."),
    _Code.PERMISSION_DENIED: _Meaning(
        ErrorKind.FORBIDDEN, Happened.NO, "The service does not let this caller do this."
    ),
    _Code.RESOURCE_EXHAUSTED: _Meaning(
        ErrorKind.RATE_LIMITED, Happened.NO, "The service wants fewer calls, or its quota is used up; wait."
    ),
    _Code.FAILED_PRECONDITION: _Meaning(
        ErrorKind.CONFLICT, Happened.NO, "The service is not in a state in which it does this."
    ),
    _Code.ABORTED: _Meaning(
        ErrorKind.CONFLICT, Happened.NO, "The service gave this up for something that came between; look and try again."
    ),
    _Code.OUT_OF_RANGE: _Meaning(
        ErrorKind.INVALID, Happened.NO, "An argument is beyond what the service has; check the arguments."
    ),
    _Code.UNIMPLEMENTED: _Meaning(
        ErrorKind.CHANGED, Happened.NO, "The service does not offer this method any more; tell an operator."
    ),
    _Code.INTERNAL: _Meaning(ErrorKind.UNAVAILABLE, Happened.UNKNOWN, _AGAIN, Fault.ERROR),
    _Code.UNAVAILABLE: _Meaning(
        ErrorKind.UNAVAILABLE,
        Happened.UNKNOWN,
        "The service cannot be reached at the moment; try again later.",
        Fault.RESET,
    ),
    _Code.DATA_LOSS: _Meaning(ErrorKind.UNAVAILABLE, Happened.UNKNOWN, _AGAIN, Fault.ERROR),
    _Code.UNAUTHENTICATED: _Meaning(
        ErrorKind.NEEDS_AUTHORISATION,
        Happened.NO,
        "The service does not accept who the connection says it is; its operator has to authorise it again.",
    ),
}
_LONG_ANSWER = _Meaning(
    ErrorKind.TOO_LARGE, Happened.YES, "The service's answer is larger than is taken; ask for less.", Fault.MALFORMED
)

_LONG_REQUEST = _Meaning(
    ErrorKind.INVALID, Happened.NO, "The arguments are larger than the service takes; shorten them."
)


def status_error(error: grpc.aio.AioRpcError, *, has_effect: bool) -> AdapterError:
    """The adapter error for a call that ended without an answer. Raise it `from None`: the library's quotes the
    service, which may quote the credential.
    """
    code = error.code()
    meaning = _TABLE[code]
    words = (error.details() or "").lower()
    if code is _Code.RESOURCE_EXHAUSTED and _TOO_LONG in words:
        meaning = _LONG_ANSWER if any(each in words for each in _ANSWER_TOO_LONG) else _LONG_REQUEST
    if _RESET in words:
        meaning = _TABLE[_Code.UNAVAILABLE]
    happened = meaning.happened if has_effect else Happened.NO
    wait = retry_after(error.trailing_metadata()) if meaning.kind in _WAITS else None
    return AdapterError(meaning.kind, meaning.message, happened=happened, fault=meaning.fault, retry_after_seconds=wait)


def too_long(*, has_effect: bool) -> AdapterError:
    """The error for an answer that is larger than is taken."""
    meaning, happened = _LONG_ANSWER, _LONG_ANSWER.happened if has_effect else Happened.NO
    return AdapterError(meaning.kind, meaning.message, happened=happened, fault=meaning.fault)


_WAITS = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.UNAVAILABLE})
