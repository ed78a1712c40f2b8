"""What a server's errors mean, in our own words.

Is a server to be believed that says it did not call the tool? It may lie, but it is the one that acts: whoever lies
here could as well act twice by itself, and nobody else's account is reached by believing it. So the codes by which
JSON-RPC and MCP define that a request was not carried out are believed, and so is a status of HTTP that refuses it,
unless the same server has told progress of that very call: then it had begun. Every other error of a call that has an
effect leaves open what happened.
"""

from dataclasses import dataclass

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.mcp_upstream.rpc import RpcError


@dataclass(frozen=True, slots=True)
class _Row:
    kind: ErrorKind
    message: str
    is_refusal: bool = True
    """It is defined as a request that was not carried out."""


_ROW_OF_CODE = {
    -32601: _Row(ErrorKind.NOT_FOUND, "The upstream server does not know this tool."),
    -32602: _Row(
        ErrorKind.INVALID,
        "The upstream server knows no such tool or does not take these arguments; check them against its description.",
    ),
    -32600: _Row(ErrorKind.MALFORMED, "The upstream server does not understand the gateway; its operator has to look."),
    -32700: _Row(ErrorKind.MALFORMED, "The upstream server does not understand the gateway; its operator has to look."),
    -32020: _Row(ErrorKind.MALFORMED, "The upstream server wants other headers than its tool says; call it again."),
    -32021: _Row(
        ErrorKind.FORBIDDEN,
        "The upstream server wants to ask the agent or its model something for this, which it may not.",
    ),
    -32022: _Row(ErrorKind.MALFORMED, "The upstream server speaks no revision of MCP that the gateway speaks."),
    -32042: _Row(
        ErrorKind.NEEDS_AUTHORISATION, "The upstream server wants a person to authorise it first; ask its operator."
    ),
    -32002: _Row(ErrorKind.NOT_FOUND, "The upstream server does not find what this is about.", is_refusal=False),
}
_ELSE = _Row(ErrorKind.UNAVAILABLE, "The upstream server has a fault of its own; try again later.", is_refusal=False)


def rpc_failure(error: RpcError, *, has_effect: bool) -> AdapterError:
    """The error that an answer is."""
    row = _ROW_OF_CODE.get(error.code, _ELSE)
    is_refused = row.is_refusal or error.is_refused
    is_certain = not has_effect or (is_refused and not error.has_begun)
    happened = Happened.NO if is_certain else Happened.UNKNOWN
    fault = Fault.ERROR if row is _ELSE else None
    return AdapterError(row.kind, row.message, happened=happened, fault=fault)


def unreadable(*, has_effect: bool) -> AdapterError:
    """What came is no message."""
    message = "The upstream server's answer cannot be read."
    return AdapterError(ErrorKind.MALFORMED, message, happened=after_sending(has_effect), fault=Fault.MALFORMED)


def too_large(*, has_effect: bool) -> AdapterError:
    """More came than is read."""
    message = "The upstream server's answer is larger than can be taken; ask for less at once."
    return AdapterError(ErrorKind.TOO_LARGE, message, happened=after_sending(has_effect))


def broken_off(*, has_effect: bool) -> AdapterError:
    """It went away before it had answered."""
    message = "The upstream server went away before it had answered; try again later."
    return AdapterError(ErrorKind.UNAVAILABLE, message, happened=after_sending(has_effect), fault=Fault.RESET)


def too_late(happened: Happened) -> AdapterError:
    """The deadline came first."""
    message = "The call's time was up before the upstream server had answered."
    return AdapterError(ErrorKind.DEADLINE, message, happened=happened, fault=Fault.TIMEOUT)


def not_now(message: str, wait_seconds: float | None = None) -> AdapterError:
    """It cannot be reached. Nothing was sent."""
    kind = ErrorKind.UNAVAILABLE
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED, retry_after_seconds=wait_seconds)


def after_sending(has_effect: bool) -> Happened:
    """What is known once a request may have gone out."""
    return Happened.UNKNOWN if has_effect else Happened.NO


def again(error: AdapterError) -> AdapterError:
    """The same error, of what came before any call, for another one who waits: an exception remembers who raised it."""
    return AdapterError(
        error.kind,
        error.message,
        happened=Happened.NO,
        fault=error.fault,
        retry_after_seconds=error.retry_after_seconds,
        attempts=error.attempts,
    )
