"""Rows of calls for tests."""

from typing import Any

from fakes.clock import START
from gateway.store.calls import Opened
from gateway.store.columns import moment_of


def opened_call(call_id: str = "c1", **changes: Any) -> Opened:
    """A running call of the usual agent."""
    usual: dict[str, Any] = {
        "call_id": call_id,
        "effect_id": f"e-{call_id}",
        "key": None,
        "agent": "helper",
        "principal": b"{}",
        "tool": "echo",
        "tool_version": "1",
        "connection": "plain",
        "run_id": "",
        "arguments_digest": "sha256:aa",
        "writer": "w1",
        "created_at": moment_of(START),
    }
    return Opened(**{**usual, **changes})
