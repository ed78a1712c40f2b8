"""Claims, and rows that others point at."""

from datetime import UTC, datetime
from typing import Any

from gateway.idempotency.base import Claim
from gateway.store.database import Session
from gateway.store.schema import (
    access_tokens,
    approval_decisions,
    approvals,
    budgets,
    calls,
    connections,
    event_heads,
    event_ids,
    events,
    tools,
    writers,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)


def claim(call_id: str = "c1", key: str = "k") -> Claim:
    """A claim."""
    return Claim(key=key, call_id=call_id, effect_id=f"e-{call_id}", arguments_digest="sha256:aa")


def _row(**more: Any) -> dict[str, Any]:
    return {"version": 1, "document": b"{}", "updated_by": "ann", "updated_at": NOW} | more


def connection(tenant: str, name: str = "mail", **more: Any) -> dict[str, Any]:
    """A row of `connections`."""
    return _row(tenant=tenant, name=name, needs_authorisation=False, **more)


def tool(tenant: str, name: str = "send", **more: Any) -> dict[str, Any]:
    """A row of `tools`."""
    return _row(tenant=tenant, name=name, connection=None) | more


def budget(tenant: str, **more: Any) -> dict[str, Any]:
    """A row of `budgets`."""
    key = {"scope": "agent", "name": "helper", "unit": "calls", "period": "2026-01-01"}
    return {"tenant": tenant, "spent": 0, "reserved": 0} | key | more


def access_token(tenant: str, **more: Any) -> dict[str, Any]:
    """A row of `access_tokens`."""
    kept = {"sealed": b"sealed", "expires_at": LATER, "is_owed": False, "version": 1}
    return {"tenant": tenant, "connection": "mail", "holder": None, "lease_until": None} | kept | more


def event_id(tenant: str, event_id: str = "v1", **more: Any) -> dict[str, Any]:
    """A row of `event_ids`."""
    return {"tenant": tenant, "connection": "mail", "event_id": event_id, "seen_at": NOW} | more


def event(tenant: str, **more: Any) -> dict[str, Any]:
    """A row of `events`."""
    told = {"vendor": "mail", "kind": "message.sent", "occurred_at": None, "received_at": NOW, "content": b"sealed"}
    return {"tenant": tenant, "number": 1, "connection": "mail", "event_id": "v1"} | told | more


def parked(tenant: str, call_id: str = "c1", **more: Any) -> dict[str, Any]:
    """A row of `calls`."""
    known = {"effect_id": call_id, "agent": "helper", "principal": b"{}", "tool": "send", "tool_version": "1"}
    kept = {"arguments_digest": "sha256:aa", "arguments": b"sealed", "state": "parked", "writer": "w1"}
    where = {"connection": "mail", "run_id": ""}
    return {"tenant": tenant, "call_id": call_id, "created_at": NOW} | known | kept | where | more


def approval(tenant: str, approval_id: str = "a1", **more: Any) -> dict[str, Any]:
    """A row of `approvals`."""
    bound = {"tool": "send", "tool_version": "1", "connection": "mail", "arguments_digest": "sha256:aa"}
    asked = {"call_id": "c1", "agent": "helper", "requester": "helper-1", "policy_revision": "r1", "terms": b"{}"}
    state = {"needed": 1, "state": "open", "created_at": NOW, "expires_at": LATER}
    return {"tenant": tenant, "approval_id": approval_id} | bound | asked | state | more


def decision(tenant: str, **more: Any) -> dict[str, Any]:
    """A row of `approval_decisions`."""
    who = {"person": "ann", "person_kind": "human", "requester": "helper-1", "role": "approver"}
    what = {"decision": "approve", "reason": "It is what was asked for.", "decided_at": NOW}
    return {"tenant": tenant, "approval_id": "a1"} | who | what | more


async def put(session: Session, *, is_asked: bool = False) -> None:
    """A connection, a tool over it, a budget and a writer; and a parked call with its approval when asked."""
    tenant = session.tenant
    await session.execute(connections.insert().values(connection(tenant)))
    await session.execute(tools.insert().values(tool(tenant, connection="mail")))
    await session.execute(budgets.insert().values(budget(tenant)))
    await session.execute(writers.insert().values(tenant=tenant, writer="w1", started_at=NOW, lease_until=LATER))
    await session.execute(access_tokens.insert().values(access_token(tenant)))
    await session.execute(event_heads.insert().values(tenant=tenant, number=1, floor=0))
    await session.execute(event_ids.insert().values([event_id(tenant), event_id(tenant, "v2")]))
    await session.execute(events.insert().values(event(tenant)))
    if is_asked:
        await session.execute(calls.insert().values(parked(tenant)))
        await session.execute(approvals.insert().values(approval(tenant)))
        await session.execute(approval_decisions.insert().values(decision(tenant)))
