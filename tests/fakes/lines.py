"""Begins, lines and results for tests."""

from typing import Any

from gateway.audit.base import Begin, Line, LineKind
from gateway.call import Result

TIME = "2026-01-01T00:00:00.000000Z"
_COMMON: dict[str, Any] = {
    "time": TIME,
    "kind": LineKind.CALL,
    "tenant": "acme",
    "principal": "helper-1",
    "principal_kind": "agent",
    "agent": "helper",
    "proof": "socket",
    "surface": "grpc",
    "tool": "echo",
}


def begin(call_id: str, **changes: Any) -> Begin:
    """The begin of a call, changed as asked."""
    return Begin(**{**_COMMON, "call_id": call_id, **changes})


def line(call_id: str, **changes: Any) -> Line:
    """The line of a call that went well, changed as asked."""
    return Line(**{**_COMMON, "call_id": call_id, "effect_id": call_id, "outcome": "ok", **changes})


def result(text: str = "done") -> Result:
    """A result."""
    return Result(content=(), structured_json=b"", receipt=text)
