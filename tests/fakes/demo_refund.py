"""The evidence of a second scene in which everything held, to be spoiled piece by piece."""

from typing import Any

from fakes.demo_evidence import REVISION, good_mail
from gateway.cli.demo.errand import Way
from gateway.cli.demo.person import Typed
from gateway.cli.demo.refund.checks import REASON
from gateway.cli.demo.refund.evidence import RefundEvidence
from gateway.cli.demo.refund.project import PERSON, SECRETS, reference_of
from gateway.cli.demo.refund.steps import CUSTOMER, SAYS, TOOLS, Step

Json = dict[str, Any]

APPROVAL = "apr_2"
DIGEST = "sha256:" + "e" * 64
EFFECT = "effect-refund"
CHARGE = {"customer": "cus_1", "amount": 2000, "currency": "usd"}
_VENDORS = {"stripe": SECRETS[0], "linear": SECRETS[1], "slack": SECRETS[2], "email": SECRETS[3]}
STRUCTURED: dict[Step, Json] = {
    Step.CUSTOMER: {"customers": [{"id": "cus_1", "email": CUSTOMER}]},
    Step.CHARGES: {"charges": [{"id": "ch_1", **CHARGE}, {"id": "ch_2", **CHARGE}]},
    Step.TEAMS: {"teams": [{"key": "SUP"}]},
    Step.ISSUE: {"identifier": "SUP-1"},
    Step.FOLLOWED: {"id": "re_1", "charge": "ch_2"},
    Step.REFUND_AGAIN: {"id": "re_1", "charge": "ch_2"},
    Step.CHANNELS: {"channels": [{"name": "support"}]},
    Step.MESSAGE: {"ts": "1.1"},
    Step.MAIL: {"accepted": 1},
}


def good_refund() -> RefundEvidence:
    """Evidence on which every claim holds. Its parts are new each time."""
    answers = [_answer(number, Step(label)) for number, (label, _) in enumerate(SAYS)]
    calls = [answer for answer in answers if answer["kind"] == Way.CALL]
    return RefundEvidence(
        says=SAYS,
        tools=tuple(sorted(set(TOOLS.values()))),
        answers=tuple(answers),
        typed=good_typed(),
        done_before=0,
        control_mode=0o700,
        agent_exit=0,
        mailbox=(good_mail("Your refund", CUSTOMER),),
        lines=(*map(_line, calls), _decision(), _execution()),
        chain_verified=True,
        chain_words="11 lines",
        uncovered=0,
        secret_hits=(),
        searched=frozenset({"state/store.db", "state/store.db-wal"}),
        control_hits=4,
        engine="embedded",
        gateway_exit=0,
        refunds=({"amount": 2000, "metadata": {"tollhouse_effect": EFFECT}},),
        issues=({"identifier": "SUP-1"},),
        messages=({"text": "SUP-1: the charge ch_2 was a double one and is refunded."},),
        counted=9,
        credentials=frozenset(map(reference_of, SECRETS)),
    )


def good_typed() -> tuple[Typed, ...]:
    """The person lists, looks and approves."""
    found = {"approval_id": APPROVAL, "tool": "stripe_create_refund", "agent": "support", "arguments_digest": DIGEST}
    open_ = found | {"state": "open", "reasons": ["high_risk: This tool can do great harm."], "decisions": []}
    preview = {"refund": "20.00 USD", "was": {"refunded": "0.00 USD"}, "will_be": {"refunded": "20.00 USD"}}
    seen = open_ | {"arguments": {"amount_minor": 2000}, "preview": preview}
    decided = seen | {"state": "approved", "decisions": [{"reason": REASON}]}
    words = (("approvals", "list"), ("approvals", "show", APPROVAL), ("approvals", "approve", APPROVAL))
    told: tuple[Json, ...] = ({"approvals": [open_]}, seen, decided)
    return tuple(
        Typed(who=PERSON, words=typed, exit_code=0, told=each) for typed, each in zip(words, told, strict=True)
    )


def _answer(number: int, step: Step) -> Json:
    outcome: Json = {"pending": {"approval_id": APPROVAL, "message": "Wait.", "policy_reasons": []}}
    if step is not Step.REFUND:
        outcome = {"result": {"content": [], "structured": STRUCTURED[step], "receipt": "Done."}}
    is_of_refund = step in (Step.REFUND, Step.FOLLOWED, Step.REFUND_AGAIN)
    value = {
        "call_id": f"call-{number}",
        "effect_id": EFFECT if is_of_refund else f"effect-{number}",
        "replay": step is Step.REFUND_AGAIN,
    }
    return {
        "kind": (Way.WATCH if step is Step.FOLLOWED else Way.CALL).value,
        "label": step.value,
        "tool": TOOLS[step],
        "value": value | outcome,
        "outcome_sha256": "0" * 64,
        "milliseconds": 3.0,
    }


def _line(call: Json) -> Json:
    value, tool = call["value"], call["tool"]
    line = {
        "kind": "call",
        "call_id": value["call_id"],
        "tool": tool,
        "outcome": "pending" if "pending" in value else "ok",
        "decision": "allow",
        "policy_engine": "embedded",
        "policy_revision": REVISION,
        "credential": reference_of(_VENDORS[tool.partition("_")[0]]),
    }
    return line | ({"replay": True} if value["replay"] else {})


def _decision() -> Json:
    return {
        "kind": "decision",
        "call_id": "decision-1",
        "principal": PERSON,
        "principal_kind": "human",
        "tool": "stripe_create_refund",
        "decision": "approve",
        "note": REASON,
        "arguments_digest": DIGEST,
        "outcome": "ok",
    }


def _execution() -> Json:
    return {
        "kind": "execution",
        "call_id": "call-4",
        "effect_id": EFFECT,
        "tool": "stripe_create_refund",
        "decision": "require_approval",
        "policy_engine": "embedded",
        "policy_revision": REVISION,
        "arguments_digest": DIGEST,
        "outcome": "ok",
    }
