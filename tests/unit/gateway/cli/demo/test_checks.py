"""A claim holds only on evidence that shows it: every way to spoil the evidence fails the claim that it belongs to."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fakes.demo_evidence import error, good_evidence, result

from gateway.cli.demo.checks import Evidence, outcome_of, run_checks
from gateway.cli.demo.errand import Label
from gateway.cli.demo.search import Hit
from gateway.cli.demo.servers import Mail

Json = dict[str, Any]
Spoil = Callable[[Evidence], Evidence]


def _answers(label: Label, outcome: Json, *, also_line: bool = False) -> Spoil:
    """Evidence in which the answers of that label are others."""

    def spoil(evidence: Evidence) -> Evidence:
        calls = copy.deepcopy(list(evidence.calls))
        for call in calls:
            if call["label"] == label:
                head = {name: call["value"][name] for name in ("call_id", "effect_id", "replay")}
                call["value"] = head | outcome
                call["outcome_sha256"] = repr(outcome)
        return replace(evidence, calls=tuple(calls))

    return spoil


def _line(number: int, **fields: Any) -> Spoil:
    def spoil(evidence: Evidence) -> Evidence:
        lines = [dict(line) for line in evidence.lines]
        lines[number] |= fields
        return replace(evidence, lines=tuple(lines))

    return spoil


def _with(**fields: Any) -> Spoil:
    return lambda evidence: replace(evidence, **fields)


def _mail(*mails: tuple[str, ...], is_authenticated: bool = True, is_encrypted: bool = True) -> Spoil:
    made = tuple(
        Mail(recipients=to, content=b"", is_authenticated=is_authenticated, is_encrypted=is_encrypted) for to in mails
    )
    return _with(mailbox=made)


def _without_last_call(evidence: Evidence) -> Evidence:
    return replace(evidence, calls=evidence.calls[:-1])


def _without_line(evidence: Evidence) -> Evidence:
    return replace(evidence, lines=evidence.lines[1:])


def _line_twice(evidence: Evidence) -> Evidence:
    return replace(evidence, lines=(*evidence.lines, evidence.lines[0]))


def _other_bytes(evidence: Evidence) -> Evidence:
    calls = tuple(
        call | {"outcome_sha256": "other"} if call["label"] == Label.UNKNOWN else call for call in evidence.calls
    )
    return replace(evidence, calls=calls)


def _not_a_replay(evidence: Evidence) -> Evidence:
    calls = copy.deepcopy(list(evidence.calls))
    calls[3]["value"]["replay"] = False
    return replace(evidence, calls=tuple(calls))


COLLEAGUE = ("ines.dahl@corp.example",)
HIT = Hit(place="logs/gateway.log", encoding="plain")
NO_ADVICE = [{"code": "x", "message": "No.", "advice": ""}]

SPOILED: list[tuple[str, str, Spoil]] = [
    ("an answer is missing", "got an answer to every call", _without_last_call),
    ("the agent failed", "got an answer to every call", _with(agent_exit=1)),
    ("another agent's tool is listed", "sees its own tools", _with(tools=("board_mail_send", "web_fetch"))),
    ("the page is another", "A page was fetched", _answers(Label.FETCH, result("nothing"))),
    ("the page was refused", "A page was fetched", _answers(Label.FETCH, error("unavailable", "vendor_unavailable"))),
    (
        "the clutter came along",
        "article was extracted",
        _answers(Label.EXTRACT, result("Pages are numbered and sewn in. We and our 842 partners value your privacy.")),
    ),
    ("no mail", "in the mailbox exactly once", _mail()),
    ("two mails", "in the mailbox exactly once", _mail(COLLEAGUE, COLLEAGUE)),
    ("mail to a stranger", "in the mailbox exactly once", _mail(COLLEAGUE, ("someone@elsewhere.example",))),
    ("no password", "signed in to the mail server", _mail(COLLEAGUE, is_authenticated=False)),
    ("no TLS", "signed in to the mail server", _mail(COLLEAGUE, is_encrypted=False)),
    ("not marked as a replay", "same key again", _not_a_replay),
    ("another answer", "same key again", _answers(Label.MAIL_AGAIN, result("other"))),
    ("the stranger got it", "stranger was denied", _answers(Label.STRANGER, result())),
    ("no reasons", "stranger was denied", _answers(Label.STRANGER, error("permission_denied", "policy_denied"))),
    (
        "no advice",
        "stranger was denied",
        _answers(Label.STRANGER, error("permission_denied", "policy_denied", policy_reasons=NO_ADVICE)),
    ),
    ("sent without approval", "needs a person is parked", _answers(Label.APPROVAL, result())),
    ("no approval id", "needs a person is parked", _answers(Label.APPROVAL, {"pending": {"approval_id": ""}})),
    ("other bytes", "hidden tool and an unknown one", _other_bytes),
    (
        "the hidden tool says so",
        "hidden tool and an unknown one",
        _answers(Label.HIDDEN, error("permission_denied", "scope_missing")),
    ),
    (
        "no issues",
        "named field by field",
        _answers(Label.BAD_ARGUMENTS, error("validation_failed", "arguments_invalid")),
    ),
    ("metadata was read", "Cloud metadata was refused", _answers(Label.METADATA, result("iam"))),
    (
        "metadata was tried",
        "Cloud metadata was refused",
        _answers(Label.METADATA_IPV6, error("unavailable", "vendor_unavailable")),
    ),
    ("the trap was touched", "redirect to loopback", _with(trapped=1)),
    ("the redirect was followed", "redirect to loopback", _answers(Label.REDIRECT, result())),
    ("no limit", "burst over the tool's limit", _answers(Label.BURST, result())),
    (
        "all refused",
        "burst over the tool's limit",
        _answers(Label.BURST, error("rate_limited", "tool_rate", retry_after_ms=5)),
    ),
    ("not told when", "burst over the tool's limit", _answers(Label.BURST, error("rate_limited", "tool_rate"))),
    (
        "the wait was not enough",
        "Waiting as long as",
        _answers(Label.AFTER_BURST, error("rate_limited", "tool_rate", retry_after_ms=5)),
    ),
    ("a line is missing", "exactly one audit line", _without_line),
    ("a line is there twice", "exactly one audit line", _line_twice),
    ("a line tells another outcome", "Each line says", _line(4, outcome="ok")),
    ("a line hides the replay", "Each line says", _line(3, replay=False)),
    ("a line names another engine", "Every decision names", _line(0, policy_engine="constant")),
    ("a line has no revision", "Every decision names", _line(0, policy_revision="")),
    ("two revisions", "Every decision names", _line(0, policy_revision="sha256:" + "b" * 64)),
    ("another credential was used", "came out of OpenBao", _line(2, credential="file:/run/secrets/mail")),
    ("nobody counted", "counted in Valkey", _with(counted=0)),
    ("the chain is broken", "audit chain verifies", _with(chain_verified=False)),
    ("the password is in the log", "password is nowhere", _with(secret_hits=(HIT,))),
    ("the search finds nothing at all", "password is nowhere", _with(control_hits=0)),
    ("the gateway had to be killed", "gateway stopped", _with(gateway_exit=-9)),
]


def test_on_good_evidence_everything_holds() -> None:
    """The evidence that the other tests spoil is good."""
    assert [check.claim for check in run_checks(good_evidence()) if not check.holds] == []


@pytest.mark.parametrize(("claim", "spoil"), [case[1:] for case in SPOILED], ids=[case[0] for case in SPOILED])
def test_spoiled_evidence_fails_its_claim(claim: str, spoil: Spoil) -> None:
    """The claim that the evidence belongs to does not hold any more."""
    failed = [check.claim for check in run_checks(spoil(good_evidence())) if not check.holds]
    assert any(claim in text for text in failed)


def test_every_claim_can_fail() -> None:
    """There is no claim that holds whatever happens."""
    claims = {check.claim for check in run_checks(good_evidence())}
    failed = {check.claim for _, _, spoil in SPOILED for check in run_checks(spoil(good_evidence())) if not check.holds}
    assert failed == claims


def test_no_evidence_at_all_fails_every_claim_that_needs_some() -> None:
    """A demo that did nothing is no success, and judging it raises nothing."""
    nothing = replace(
        good_evidence(), tools=(), calls=(), mailbox=(), lines=(), agent_exit=-1, gateway_exit=-1, counted=0
    )
    held = [check.claim for check in run_checks(nothing) if check.holds]
    assert held == ["The audit chain verifies", "The mail password is nowhere to be found"]


def test_a_hit_tells_the_place_and_never_the_secret() -> None:
    """What was seen names file and encoding."""
    spoiled = replace(good_evidence(), secret_hits=(HIT,))
    (failed,) = (check for check in run_checks(spoiled) if not check.holds)
    assert failed.saw == "logs/gateway.log (plain)"


def test_outcomes_have_one_word() -> None:
    """`ok`, `replay`, `pending`, an error code, or `nothing`."""
    assert outcome_of({"result": {}, "replay": False}) == "ok"
    assert outcome_of({"result": {}, "replay": True}) == "replay"
    assert outcome_of({"pending": {}}) == "pending"
    assert outcome_of(error("not_found", "tool_not_found")) == "not_found"
    assert outcome_of({}) == "nothing"
