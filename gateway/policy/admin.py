"""Whether an operator may change something, or look: policy decides, by a rule of its own."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import orjson

from gateway.call import Decision, DecisionEffect, Principal
from gateway.clock import rfc3339
from gateway.errors import Code, Reason, Refusal, Refused, RefusedKind
from gateway.policy.base import Engine

NOTHING = b"null"
_MET = frozenset({"log_level"})
"""Obligations that an operator's deed meets anyway: it is written down in full."""


class AdminAction(StrEnum):
    """What an operator does to the registry and to what is stopped."""

    REGISTRY_PUT = "registry.put"
    REGISTRY_DELETE = "registry.delete"
    REGISTRY_READ = "registry.read"
    STOP_SET = "stop.set"
    STOP_CLEAR = "stop.clear"
    STOP_READ = "stop.read"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminFacts:
    """What policy may know of one thing that an operator wants to do. The documents hold no secret."""

    action: str
    kind: str
    """What it is done to: `tool`, `connection`, `agent`; of a stop its scope; empty for all of them."""
    name: str
    deed_id: str
    now: float
    """Seconds since the epoch: the only time that a rule can use."""
    before_json: bytes = field(default=NOTHING, repr=False)
    after_json: bytes = field(default=NOTHING, repr=False)


def admin_document(principal: Principal, facts: AdminFacts) -> bytes:
    """The policy input as JSON (see `policies/admin_input.schema.json`).

    Both documents are trusted to be JSON; everything else is escaped here.
    """
    named = orjson.dumps({"action": facts.action, "kind": facts.kind, "name": facts.name})
    call = orjson.dumps({"id": facts.deed_id, "time": rfc3339(facts.now)})
    return b"".join(
        (
            b'{"principal":',
            principal.policy_json,
            b',"admin":',
            named[:-1],
            b',"before":',
            facts.before_json,
            b',"after":',
            facts.after_json,
            b'},"call":',
            call,
            b"}",
        )
    )


class Tell(Protocol):
    """Where a decision is told, for a line: `gateway.audit.deeds.Deed.tell`."""

    def __call__(self, **fields: object) -> None:
        """Fields of the line."""
        ...


def _nowhere(**_fields: object) -> None:
    """What leaves no line."""


class AdminPolicy:
    """Asks the policy about operators."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def demand(self, principal: Principal, facts: AdminFacts, tell: Tell = _nowhere) -> None:
        """Return when policy allows it. The decision is told, whichever it is. Raises `Refused`."""
        tell(policy_engine=self._engine.name)
        try:
            decision = await self._engine.decide_admin(admin_document(principal, facts))
        except Refusal as refusal:
            tell(reason=refusal.reason.value, fault=refusal.fault.value if refusal.fault else "")
            kind = RefusedKind.UNAVAILABLE if refusal.code is Code.UNAVAILABLE else RefusedKind.FORBIDDEN
            raise Refused(kind, refusal.message) from refusal
        tell(
            decision=decision.effect.value,
            policy_revision=decision.revision,
            policy_reasons=tuple(reason.code for reason in decision.reasons),
            obligations=tuple(obligation.type for obligation in decision.obligations),
        )
        if not _allows(decision):
            tell(reason=Reason.POLICY_DENIED.value)
            raise _denied(decision, facts)


def _allows(decision: Decision) -> bool:
    """An obligation that nobody would meet makes an allow none."""
    kinds = {obligation.type for obligation in decision.obligations}
    return decision.effect is DecisionEffect.ALLOW and kinds <= _MET


def _denied(decision: Decision, facts: AdminFacts) -> Refused:
    what = " ".join(word for word in (facts.action, facts.kind, facts.name) if word)
    why = " ".join(f"{reason.message} {reason.advice}".strip() for reason in decision.reasons)
    return Refused(RefusedKind.FORBIDDEN, f"Policy does not allow {what}. {why}".strip())
