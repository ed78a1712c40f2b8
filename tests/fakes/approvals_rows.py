"""Rows of approvals, written past whoever looks after them."""

from sqlalchemy import insert

from fakes.clock import START
from gateway.store.columns import moment_of
from gateway.store.database import Session
from gateway.store.schema import approvals


async def asked(session: Session, approval_id: str, call_id: str, at: float = START, state: str = "open") -> None:
    """A person is asked about the call."""
    row = {
        "tenant": session.tenant,
        "approval_id": approval_id,
        "call_id": call_id,
        "agent": "helper",
        "requester": "helper-1",
        "tool": "echo",
        "tool_version": "1",
        "connection": "plain",
        "arguments_digest": "sha256:aa",
        "policy_revision": "r",
        "terms": b"{}",
        "needed": 1,
        "state": state,
        "created_at": moment_of(at),
        "expires_at": moment_of(at + 7200),
    }
    await session.execute(insert(approvals).values(row))
