"""A claim holds only on evidence that shows it: every way to spoil the evidence fails the claim that it belongs to."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fakes.demo_evidence import error, good_evidence, good_mail, result

from gateway.cli.demo.checks import run_checks
from gateway.cli.demo.errand import ANNOUNCEMENT, Label
from gateway.cli.demo.evidence import Evidence
from gateway.cli.demo.search import Hit

Json = dict[str, Any]
Spoil = Callable[[Evidence], Evidence]


def _answers(label: Label, outcome: Json) -> Spoil:
    """Evidence in which the answers of that label are others."""

    def spoil(evidence: Evidence) -> Evidence:
        answers = copy.deepcopy(list(evidence.answers))
        for one in answers:
            if one["label"] == label:
                head = {name: one["value"][name] for name in ("call_id", "effect_id", "replay")}
                one["value"] = head | outcome
                one["outcome_sha256"] = repr(outcome)
        return replace(evidence, answers=tuple(answers))

    return spoil


def _told(label: Label, **fields: Any) -> Spoil:
    """Evidence in which the answers of that label have other ids, or another replay."""

    def spoil(evidence: Evidence) -> Evidence:
        answers = copy.deepcopy(list(evidence.answers))
        for one in answers:
            one["value"] |= fields if one["label"] == label else {}
        return replace(evidence, answers=tuple(answers))

    return spoil


def _line(number: int, **fields: Any) -> Spoil:
    def spoil(evidence: Evidence) -> Evidence:
        lines = [dict(line) for line in evidence.lines]
        lines[number] |= fields
        return replace(evidence, lines=tuple(lines))

    return spoil


def _with(**fields: Any) -> Spoil:
    return lambda evidence: replace(evidence, **fields)


def _typed(number: int, **fields: Any) -> Spoil:
    """Evidence in which this command came to something else; what it printed is changed, not replaced."""

    def spoil(evidence: Evidence) -> Evidence:
        typed = list(evidence.typed)
        told = typed[number].told | fields.pop("told", {})
        typed[number] = replace(typed[number], told=told, **fields)
        return replace(evidence, typed=tuple(typed))

    return spoil


def _mails(*subjects: str, **fields: Any) -> Spoil:
    return _with(mailbox=tuple(replace(good_mail(subject), **fields) for subject in subjects))


def _without_last_answer(evidence: Evidence) -> Evidence:
    return replace(evidence, answers=evidence.answers[:-1])


def _without_line(evidence: Evidence) -> Evidence:
    return replace(evidence, lines=evidence.lines[1:])


def _line_twice(evidence: Evidence) -> Evidence:
    return replace(evidence, lines=(*evidence.lines, evidence.lines[0]))


def _other_bytes(evidence: Evidence) -> Evidence:
    answers = tuple(
        one | {"outcome_sha256": "other"} if one["label"] == Label.UNKNOWN else one for one in evidence.answers
    )
    return replace(evidence, answers=answers)


def _of_kind(kind: str, **fields: Any) -> Spoil:
    """Evidence in which the lines of this kind say something else."""
    return lambda evidence: replace(
        evidence, lines=tuple(line | fields if line["kind"] == kind else line for line in evidence.lines)
    )


def _twice(kind: str) -> Spoil:
    return lambda evidence: replace(evidence, lines=(*evidence.lines, *evidence.lines_of(kind)))


def _none_of(kind: str) -> Spoil:
    return lambda evidence: replace(evidence, lines=tuple(one for one in evidence.lines if one["kind"] != kind))


MAIL = "Hello"
STRANGER = ("ines.dahl@corp.example", "someone@elsewhere.example")
RAN_ONCE = "It ran once"
VERY_CALL = "approved the very call"
HIT = Hit(place="logs/gateway.log", encoding="plain")
NO_ADVICE = [{"code": "x", "message": "No.", "advice": ""}]

SPOILED: list[tuple[str, str, Spoil]] = [
    ("an answer is missing", "got an answer to every call", _without_last_answer),
    ("the agent failed", "got an answer to every call", _with(agent_exit=1)),
    ("another agent's tool is listed", "sees its own tools", _with(tools=("board_mail_send", "web_fetch"))),
    ("the page is another", "A page was fetched", _answers(Label.FETCH, result("nothing"))),
    ("the page was refused", "A page was fetched", _answers(Label.FETCH, error("unavailable", "vendor_unavailable"))),
    (
        "the clutter came along",
        "article was extracted",
        _answers(Label.EXTRACT, result("Pages are numbered and sewn in. We and our 842 partners value your privacy.")),
    ),
    ("no mail", "in the mailbox exactly once", _mails(ANNOUNCEMENT)),
    ("two mails", "in the mailbox exactly once", _mails(MAIL, MAIL, ANNOUNCEMENT)),
    ("mail to a stranger", "in the mailbox exactly once", _mails(MAIL, ANNOUNCEMENT, recipients=STRANGER)),
    ("no password", "signed in to the mail server", _mails(MAIL, ANNOUNCEMENT, is_authenticated=False)),
    ("no TLS", "signed in to the mail server", _mails(MAIL, ANNOUNCEMENT, is_encrypted=False)),
    ("not marked as a replay", "same key again", _told(Label.MAIL_AGAIN, replay=False)),
    ("more than the cap was done", "beyond the agent's cap", _answers(Label.EXTRACT_MORE, result())),
    ("the cap refused for another reason", "beyond the agent's cap", _answers(Label.EXTRACT_MORE, error("a", "b"))),
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
    ("sent before anybody approved", "needs a person is parked", _with(done_before=1)),
    ("nobody decided", "needs a person is parked", _with(done_before=-1)),
    ("the agent approved itself", "cannot approve its own", _typed(0, exit_code=0)),
    ("the agent is refused for another reason", "cannot approve its own", _typed(0, complaint="no gateway answers")),
    ("the people's folder is open", "cannot approve its own", _with(control_mode=0o755)),
    ("she saw other arguments", VERY_CALL, _typed(2, told={"arguments_digest": "sha256:other"})),
    ("she saw another text", VERY_CALL, _typed(2, told={"arguments": {"subject": "Another"}})),
    ("she approved another", VERY_CALL, _typed(4, told={"approval_id": "apr_2"})),
    ("other arguments ran", VERY_CALL, _of_kind("execution", arguments_digest="sha256:other")),
    ("another approval was used", VERY_CALL, _of_kind("execution", approval_id="apr_2")),
    ("it did not run", RAN_ONCE, _none_of("execution")),
    ("it ran twice", RAN_ONCE, _twice("execution")),
    ("it ran under another call", RAN_ONCE, _of_kind("execution", call_id="call-0")),
    ("it has another effect", RAN_ONCE, _of_kind("execution", effect_id="effect-0")),
    ("it failed", RAN_ONCE, _of_kind("execution", outcome="provider_error")),
    ("the announcement was sent twice", RAN_ONCE, _mails(MAIL, ANNOUNCEMENT, ANNOUNCEMENT)),
    ("the announcement was not sent", RAN_ONCE, _mails(MAIL)),
    ("the decision has no line", "The decision has a line", _none_of("decision")),
    ("the decision has two lines", "The decision has a line", _twice("decision")),
    ("somebody else decided", "The decision has a line", _of_kind("decision", principal="reporter")),
    ("no person decided", "The decision has a line", _of_kind("decision", principal_kind="agent")),
    ("the reason is not kept", "The decision has a line", _of_kind("decision", note="")),
    ("following told another result", "The agent learned", _answers(Label.FOLLOWED, result("other"))),
    ("asking told that it waits", "The agent learned", _answers(Label.ASKED, {"pending": {}})),
    ("the key told of another effect", "The agent learned", _told(Label.APPROVED_AGAIN, effect_id="effect-0")),
    ("the key did it again", "The agent learned", _told(Label.APPROVED_AGAIN, replay=False)),
    ("it goes on all the same", "A tool that she stopped", _answers(Label.STOPPED, result())),
    ("it is refused for another reason", "A tool that she stopped", _answers(Label.STOPPED, error("a", "cap_reached"))),
    ("stopping left no line", "A tool that she stopped", _none_of("admin")),
    ("somebody else stopped it", "A tool that she stopped", _of_kind("admin", principal="reporter")),
    ("she was not allowed to stop it", "A tool that she stopped", _of_kind("admin", outcome="permission_denied")),
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
    ("a line tells another outcome", "Each line says", _line(5, outcome="ok")),
    ("a line hides the replay", "Each line says", _line(4, replay=False)),
    ("a line names another engine", "Every decision names", _line(0, policy_engine="constant")),
    ("a line has no revision", "Every decision names", _line(0, policy_revision="")),
    ("two revisions", "Every decision names", _line(0, policy_revision="sha256:" + "b" * 64)),
    ("another credential was used", "came out of OpenBao", _line(3, credential="file:/run/secrets/mail")),
    ("nobody counted", "counted in Valkey", _with(counted=0)),
    ("the chain is broken", "audit chain verifies", _with(chain_verified=False)),
    ("the last lines are not signed for", "Signed checkpoints cover", _with(uncovered=2)),
    ("the password is in the log", "password is nowhere", _with(secret_hits=(HIT,))),
    ("the search finds nothing at all", "password is nowhere", _with(control_hits=0)),
    ("the store was not looked into", "password is nowhere", _with(searched=frozenset({"state/store.db"}))),
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
        good_evidence(),
        tools=(),
        answers=(),
        typed=(),
        done_before=-1,
        mailbox=(),
        lines=(),
        agent_exit=-1,
        gateway_exit=-1,
        counted=0,
    )
    held = [check.claim for check in run_checks(nothing) if check.holds]
    assert held == [
        "The audit chain verifies",
        "Signed checkpoints cover it to its end",
        "The mail password is nowhere to be found",
    ]


def test_a_hit_tells_the_place_and_never_the_secret() -> None:
    """What was seen names file and encoding."""
    spoiled = replace(good_evidence(), secret_hits=(HIT,))
    (failed,) = (check for check in run_checks(spoiled) if not check.holds)
    assert failed.saw == "logs/gateway.log (plain)"
