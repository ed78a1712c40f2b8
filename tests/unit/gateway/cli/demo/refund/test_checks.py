"""Every claim about the second scene holds when all is well, and fails when what it is about is spoiled."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fakes.demo_evidence import error, good_mail
from fakes.demo_refund import good_refund

from gateway.cli.demo.refund.checks import run_refund_checks
from gateway.cli.demo.refund.evidence import RefundEvidence
from gateway.cli.demo.refund.steps import CUSTOMER, Step

Spoil = Callable[[RefundEvidence], RefundEvidence]


def test_everything_holds_when_all_is_well() -> None:
    """No claim fails without a reason, and each says what was seen."""
    checks = run_refund_checks(good_refund())
    assert [check for check in checks if not check.holds] == []
    assert all(check.saw for check in checks)


def _with(**changes: Any) -> Spoil:
    return lambda evidence: replace(evidence, **changes)


def _answering(step: Step, **changes: Any) -> Spoil:
    def spoil(evidence: RefundEvidence) -> RefundEvidence:
        answers = copy.deepcopy(list(evidence.answers))
        (found,) = (answer for answer in answers if answer["label"] == step)
        found["value"] |= changes
        return replace(evidence, answers=tuple(answers))

    return spoil


def _giving(step: Step, structured: Any) -> Spoil:
    return _answering(step, result={"content": [], "structured": structured, "receipt": "Done."})


def _line(kind: str, **changes: Any) -> Spoil:
    def spoil(evidence: RefundEvidence) -> RefundEvidence:
        return replace(
            evidence, lines=tuple(line | changes if line["kind"] == kind else line for line in evidence.lines)
        )

    return spoil


def _typed(index: int, **changes: Any) -> Spoil:
    def spoil(evidence: RefundEvidence) -> RefundEvidence:
        typed = list(evidence.typed)
        typed[index] = replace(typed[index], **changes)
        return replace(evidence, typed=tuple(typed))

    return spoil


def _shown(**changes: Any) -> Spoil:
    return lambda evidence: _typed(1, told=evidence.typed[1].told | changes)(evidence)


_CHARGE = {"customer": "cus_1", "amount": 2000, "currency": "usd"}
_REFUND = {"amount": 2000, "metadata": {"tollhouse_effect": "effect-refund"}}
_PREVIEW = {"refund": "20.00 USD", "was": {"refunded": "20.00 USD"}, "will_be": {"refunded": "40.00 USD"}}
SPOILED: tuple[tuple[str, str, Spoil], ...] = (
    ("the agent gave up", "an answer to every call", _with(agent_exit=3)),
    ("it sees one tool more", "its own tools", _with(tools=("stripe_create_payout",))),
    ("one charge", "her two charges", _giving(Step.CHARGES, {"charges": [_CHARGE]})),
    ("another's charge", "her two charges", _giving(Step.CHARGES, {"charges": [_CHARGE, _CHARGE | {"customer": "x"}]})),
    ("two issues", "one issue", _with(issues=({"identifier": "SUP-1"}, {"identifier": "SUP-2"}))),
    ("another issue", "one issue", _with(issues=({"identifier": "SUP-9"},))),
    ("it was not parked", "refund is parked", _answering(Step.REFUND, pending={"approval_id": ""})),
    ("refunded before anybody approved", "refund is parked", _with(done_before=1)),
    ("nobody decided", "refund is parked", _with(done_before=-1)),
    ("she saw other arguments", "that she saw", _shown(arguments_digest="sha256:other")),
    ("she saw no preview", "that she saw", _shown(preview=None)),
    ("the preview was of something else", "that she saw", _shown(preview=_PREVIEW)),
    ("the agent approved", "that she saw", _typed(2, who="support")),
    ("she did not get to approve", "that she saw", lambda evidence: replace(evidence, typed=evidence.typed[:2])),
    ("her approval failed", "that she saw", _typed(2, exit_code=2)),
    ("no refund", "It ran once", _with(refunds=())),
    ("two refunds", "It ran once", _with(refunds=(_REFUND, _REFUND))),
    ("a refund of somebody else's", "It ran once", _with(refunds=(_REFUND | {"metadata": {}},))),
    ("a refund of more", "It ran once", _with(refunds=(_REFUND | {"amount": 4000},))),
    ("it ran for another effect", "It ran once", _line("execution", effect_id="another")),
    ("its outcome is unknown", "It ran once", _line("execution", outcome="unknown")),
    ("a program decided", "decision has a line", _line("decision", principal_kind="workflow")),
    ("the reason is lost", "decision has a line", _line("decision", note="")),
    ("the second try was another refund", "second try", _answering(Step.REFUND_AGAIN, effect_id="another")),
    ("the second try was no replay", "second try", _answering(Step.REFUND_AGAIN, replay=False)),
    ("it followed another result", "second try", _giving(Step.FOLLOWED, {"id": "re_2", "charge": "ch_2"})),
    ("nobody was told", "one message", _with(messages=())),
    ("everybody was told twice", "one message", _with(messages=({"text": "ch_2"}, {"text": "ch_2"}))),
    ("they were told of another charge", "one message", _with(messages=({"text": "ch_9"},))),
    ("the customer got two mails", "one mail", _with(mailbox=(good_mail("A", CUSTOMER), good_mail("A", CUSTOMER)))),
    ("somebody else got it", "one mail", _with(mailbox=(good_mail("A", "x@else.example"),))),
    ("a key of the agent's own", "by reference", _line("call", credential="env:KEY")),
    ("nobody counted", "counted in Valkey", _with(counted=0)),
    ("a line is missing", "exactly one audit line", lambda evidence: replace(evidence, lines=evidence.lines[1:])),
    ("a line disagrees", "what the agent was told", _line("call", outcome="unknown")),
)


@pytest.mark.parametrize(("name", "claim", "spoil"), SPOILED, ids=[name for name, _, _ in SPOILED])
def test_what_is_spoiled_does_not_hold(name: str, claim: str, spoil: Spoil) -> None:
    """The claim that it is about fails."""
    failed = [check.claim for check in run_refund_checks(spoil(good_refund())) if not check.holds]
    assert [text for text in failed if claim in text], f"{name}: {failed}"


def test_an_error_in_place_of_a_result_is_no_evidence() -> None:
    """The claims say so, and nothing is raised."""
    evidence = good_refund()
    answers = [answer | {"value": error("unavailable", "vendor_unavailable")} for answer in evidence.answers]
    failed = {check.claim for check in run_refund_checks(replace(evidence, answers=tuple(answers))) if not check.holds}
    assert "It found the customer and her two charges" in failed
