"""What is written down of a call that is to wait."""

from dataclasses import dataclass
from typing import Any

from gateway.approvals.base import Parked, Terms
from gateway.approvals.kept import asked_of, question, read_question
from gateway.approvals.means import Means
from gateway.call import CallerKind, DecisionEffect
from gateway.store import approval_rows
from gateway.store.calls import PARKED, Opened, place_of
from gateway.store.columns import moment_of

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """Columns of a call, of its approval, and of the decisions that count already. What is private is sealed."""

    call: Opened
    approval: Row
    decisions: tuple[Row, ...]


async def rows_of(means: Means, parked: Parked, approval_id: str) -> Written:
    """The rows. Raises `SealBroken`, `StoreDown` and `KeptUnreadable`."""
    is_allowed = parked.decision.effect is DecisionEffect.ALLOW
    otherwise = await _former_terms(means, parked) if is_allowed else means.otherwise
    terms = Terms.of(parked.decision, otherwise)
    approval = await _of_approval(means, parked, approval_id, terms)
    return Written(await _of_call(means, parked), approval, _counting(parked, terms))


async def _of_call(means: Means, parked: Parked) -> Opened:
    tenant, call_id = parked.principal.tenant, parked.call_id
    place = place_of(call_id)
    return Opened(
        call_id=call_id,
        effect_id=parked.effect_id,
        key=parked.key or None,
        agent=parked.principal.agent,
        principal=await means.seal.seal(tenant, place, parked.principal.policy_json),
        tool=parked.tool.name,
        tool_version=parked.tool.version,
        connection=parked.connection.name,
        run_id=parked.request.run_id[:128],
        arguments_digest=parked.arguments.digest,
        arguments=await means.seal.seal(tenant, place, asked_of(parked)),
        state=PARKED,
        writer=means.writer,
        created_at=moment_of(parked.now),
    )


async def _of_approval(means: Means, parked: Parked, approval_id: str, terms: Terms) -> Row:
    preview = parked.preview_json
    return {
        "approval_id": approval_id,
        "call_id": parked.call_id,
        "agent": parked.principal.agent,
        "tool": parked.tool.name,
        "tool_version": parked.tool.version,
        "connection": parked.connection.name,
        "arguments_digest": parked.arguments.digest,
        "created_at": moment_of(parked.now),
        "requester": parked.principal.id,
        "policy_revision": parked.decision.revision,
        "terms": question(parked, terms),
        "preview": await means.seal.seal(parked.principal.tenant, approval_id, preview) if preview else None,
        "needed": terms.count,
        "expires_at": moment_of(parked.now + terms.expires_in_seconds),
    }


async def _former_terms(means: Means, parked: Parked) -> Terms:
    """Of an edited call for which policy asks nobody: it was asked for under these before."""
    async with means.database.tenant(parked.principal.tenant, is_read=True) as session:
        kept = await approval_rows.find(session, parked.instead_of)
    return means.otherwise if kept is None else read_question(kept.terms).terms


def _counting(parked: Parked, terms: Terms) -> tuple[Row, ...]:
    """The decisions that count under these terms: by somebody with a role that is asked for, and not too old."""
    oldest = parked.now - terms.expires_in_seconds
    found = ((one, terms.role_of(one.roles)) for one in parked.decided_by if one.approves and one.at > oldest)
    return tuple(
        {
            "person": one.person,
            "person_kind": CallerKind.HUMAN.value,
            "requester": parked.principal.id,
            "decision": "approve",
            "role": role,
            "reason": one.reason,
        }
        for one, role in found
        if role
    )
