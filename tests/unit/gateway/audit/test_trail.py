"""What a call leaves behind becomes its records and its one line, whatever was in it."""

import itertools
from typing import Any

import orjson
import pytest
from fakes.principals import principal
from fakes.rows import connection, tool

from adapters.base import Fault, Happened, Secret, SideEffect
from gateway.audit.base import Line, LineKind
from gateway.audit.lines import encode_line
from gateway.audit.trail import ARGUMENTS_BYTES, Trail, outcome_word
from gateway.call import (
    Arguments,
    Decision,
    DecisionEffect,
    Failure,
    Obligation,
    Outcome,
    Pending,
    Request,
    Result,
    Step,
    Truncation,
)
from gateway.credentials.base import Lent
from gateway.errors import Code, PolicyReason, Reason
from gateway.store.unknowns import account_of

DONE = Result(content=(), structured_json=b'{"a":1}', receipt="Done.")


def trail(**changes: Any) -> Trail:
    """A trail whose clock ticks a millisecond at each step."""
    ticks = itertools.count(0, 1_000_000)
    request = Request(**{"tool": "note", "arguments_json": b"{}", "idempotency_key": "raw-key", **changes})
    return Trail(
        kind=LineKind.CALL,
        call_id="c1",
        principal=principal(),
        request=request,
        now=1_767_225_600.25,
        nanoseconds=lambda: next(ticks),
    )


def along(one: Trail, *steps: Step) -> Trail:
    """The trail after these steps."""
    for step in steps or tuple(Step)[1:-1]:
        one.enter(step)
    return one


def test_the_begin_holds_enough_for_a_line_after_a_crash() -> None:
    """Who, what, when, by which proof; names cut, no arguments, no key."""
    begin = trail(run_id="r" * 500, step_id="s").begin_record()
    assert (begin.time, begin.call_id, begin.tenant, begin.principal) == (
        "2026-01-01T00:00:00.250000Z",
        "c1",
        "acme",
        "helper-1",
    )
    assert (begin.tool, begin.run_id, begin.step_id, begin.proof) == ("note", "r" * 128, "s", "socket")
    assert "raw-key" not in str(begin)


def test_the_intent_tells_what_is_about_to_happen() -> None:
    """Who called, what of, on which decision, under which key: what a line needs when nobody else can tell. Of the
    arguments it holds the digest: an agent may have pasted a credential into them.
    """
    one = trail(mode="work", run_id="r1", step_id="s1")
    one.tool, one.connection = tool(side_effect=SideEffect.SEND, version="7"), connection()
    one.upstream = "mail/send@sha256:aa"
    one.arguments = Arguments(value={"a": "private"}, canonical=b'{"a":"private"}', digest="sha256:d")
    reasons = (PolicyReason(code="fine", message="not in the intent"),)
    one.decision = Decision(effect=DecisionEffect.ALLOW, reasons=reasons, obligations=(), revision="sha256:r")
    one.key, one.engine, one.effect_id = "k-digest", "embedded", "e1"
    raw = one.intent_record()
    assert orjson.loads(raw) == {
        **one.begin_record()._asdict(),
        "effect_id": "e1",
        "mode": "work",
        "tool_version": "7",
        "side_effect": "send",
        "connection": "fake",
        "upstream": "mail/send@sha256:aa",
        "arguments_digest": "sha256:d",
        "decision": "allow",
        "policy_engine": "embedded",
        "policy_revision": "sha256:r",
        "policy_reasons": ["fine"],
        "approval_id": "",
        "credential": one.connection.credential,
        "key_digest": "k-digest",
        "account": account_of(one.tool.binding, one.connection),
    }
    assert not any(word in raw.decode() for word in ("private", "raw-key", "not in the intent"))


def test_an_execution_goes_on_under_the_names_of_its_call() -> None:
    """Effect, key and approval are those of the call that was parked; begin, intent and line all say so."""
    one = along(trail())
    one.approve("apr_1", "e0", "k-digest")
    line, intent = one.line(DONE), orjson.loads(one.intent_record())
    for name, value in (("approval_id", "apr_1"), ("effect_id", "e0"), ("key_digest", "k-digest")):
        assert getattr(line, name) == intent[name] == value


def test_a_call_that_waits_names_what_it_waits_for() -> None:
    """Also when it is an execution that has to wait again: the new approval, not the old one."""
    one = along(trail())
    one.approve("apr_1", "e0", "k-digest")
    assert one.line(Pending(approval_id="apr_2", message="m")).approval_id == "apr_2"


def test_what_was_lent_is_named_and_given_back() -> None:
    """By what it was issued under; the secret is forgotten, and giving back twice or nothing does no harm."""
    one, given = along(trail()), []
    one.give_back()
    secret = Secret("hunter-22")
    one.lend(Lent((secret,), "lease-1", lambda: given.append(True)))
    assert one.secrets == (secret,)
    line = one.line(DONE)
    assert line.lease == "lease-1"
    assert "hunter-22" not in str(line)
    one.give_back()
    assert (secret.reveal(), given) == ("", [True])


def test_what_an_adapter_made_is_as_secret_as_what_was_lent() -> None:
    """It stands behind the credential, and is forgotten with it; also when there was no credential."""
    one, made = along(trail()), Secret("made-of-it")
    one.lend(Lent((Secret("hunter-22"),), ""))
    one.learn(made)
    assert [secret.reveal() for secret in one.secrets] == ["hunter-22", "made-of-it"]
    assert one.lent is one.secrets[0]
    one.give_back()
    assert made.reveal() == ""
    bare, found = along(trail()), Secret("found")
    bare.learn(found)
    assert bare.lent is None
    bare.give_back()
    assert found.reveal() == ""


def test_how_long_the_line_took_is_told_from_when_it_was_made() -> None:
    """In microseconds."""
    one = along(trail())
    one.line(DONE)
    assert one.audit_us() == 1000


def test_a_line_times_each_step() -> None:
    """Microseconds from one step to the next; the whole from begin to audit."""
    line = along(trail(), Step.BEGIN, Step.REGISTRY, Step.POLICY).line(DONE)
    assert line.steps_us == {"begin": 1000, "registry": 1000, "policy": 1000}
    assert line.duration_us == 3000


def test_a_call_that_was_stopped_names_its_last_step() -> None:
    """And one that was carried out names none."""
    failure = Failure(reason=Reason.TOOL_RATE, message="m", fault=Fault.REFUSED)
    stopped = along(trail(), Step.BEGIN, Step.LIMITS).line(failure)
    assert (stopped.stopped_at, stopped.outcome, stopped.reason, stopped.fault) == (
        "limits",
        "rate_limited",
        "tool_rate",
        "refused",
    )
    assert along(trail()).line(DONE).stopped_at == ""


def test_a_line_holds_what_the_steps_found() -> None:
    """Tool, connection, decision, obligations, key, credential's reference, attempts, cuts."""
    one = along(trail(mode="work"))
    one.tool, one.connection, one.costs = tool(name="note"), connection(), {"EUR": 2}
    one.decision = Decision(
        effect=DecisionEffect.ALLOW,
        reasons=(PolicyReason(code="fine", message="not in the line"),),
        obligations=(Obligation(type="redact", value={"paths": ["/a"]}),),
        revision="sha256:r",
    )
    one.key, one.credential, one.attempts, one.happened = "k-digest", "env:TOKEN", 2, Happened.YES
    result = Result(
        content=(),
        structured_json=b"12345",
        receipt="private receipt",
        truncation=Truncation(limit="result_bytes", original_bytes=9, kept_bytes=5),
        redacted_paths=("/a",),
        scrubbed=3,
    )
    line = one.line(result, '{"a":1}')
    assert (line.cost, line.connection, line.mode) == ({"EUR": 2}, "fake", "work")
    assert (line.policy_reasons, line.obligations, line.policy_revision) == (("fine",), ("redact",), "sha256:r")
    assert (line.key_digest, line.credential, line.attempts, line.happened) == ("k-digest", "env:TOKEN", 2, "yes")
    assert (line.result_bytes, line.truncated, line.redacted, line.scrubbed) == (5, True, ("/a",), 3)
    text = str(tuple(line))
    assert not any(word in text for word in ("private receipt", "not in the line", "raw-key"))


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (DONE, "ok"),
        (Pending(approval_id="a", message="m"), "pending"),
        (Failure(reason=Reason.CANCELLED, message="m"), "cancelled"),
        (Failure(reason=Reason.OUTCOME_UNKNOWN, message="m"), "unknown"),
        (Failure(reason=Reason.POLICY_DENIED, message="m"), "permission_denied"),
    ],
)
def test_an_outcome_is_one_word(outcome: Outcome, word: str) -> None:
    """`ok`, `pending`, `cancelled`, `unknown`, or a code."""
    assert outcome_word(outcome) == word


def test_every_other_failure_is_a_code() -> None:
    """No outcome is made up."""
    words = {outcome_word(Failure(reason=reason, message="")) for reason in Reason}
    assert words == {code.value for code in Code} - {"outcome_unknown"} | {"cancelled", "unknown"}


@pytest.mark.parametrize("letter", ["x", "ä", "😀"])
def test_the_arguments_are_cut_at_a_kilobyte(letter: str) -> None:
    """Between characters, and the line says so; what fits is whole."""
    long = along(trail()).line(DONE, letter * 2000)
    assert long.arguments_cut
    assert ARGUMENTS_BYTES["normal"] - 4 < len(long.arguments.encode()) <= ARGUMENTS_BYTES["normal"]
    whole = letter * (ARGUMENTS_BYTES["normal"] // len(letter.encode()))
    line = along(trail()).line(DONE, whole)
    assert (line.arguments, line.arguments_cut) == (whole, False)


@pytest.mark.parametrize("text", ["a\ud800b", "\x00\x1b[31m\u202e", "\n{}\n", "x" * 1_000_000, ""])
def test_whatever_a_caller_writes_there_is_a_line_of_one_line(text: str) -> None:
    """Half characters, control characters, line breaks, any length: JSON on one line, bounded."""
    one = along(trail(tool=text, run_id=text, step_id=text, mode=text))
    raw = encode_line(one.line(Failure(reason=Reason.TOOL_NOT_FOUND, message=text), text)) + b"}"
    assert b"\n" not in raw
    assert len(raw) < 20_000
    value = orjson.loads(raw)
    assert (value["outcome"], value["call_id"]) == ("not_found", "c1")


def test_every_field_of_a_line_is_a_field_of_the_record() -> None:
    """The allow-list is the type: nothing else can be passed."""
    with pytest.raises(TypeError):
        Line(time="", kind=LineKind.CALL, secret="x")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("levels", "kept"),
    [((), 1024), (("normal",), 1024), (("full",), 16_384), (("minimal",), 0), (("full", "minimal", "normal"), 0)],
)
def test_policy_says_how_much_of_the_arguments_a_line_holds(levels: tuple[str, ...], kept: int) -> None:
    """By its obligation `log_level`; of several the least counts, and the line says that it was cut."""
    one = along(trail())
    obligations = tuple(Obligation(type="log_level", value=level) for level in levels)
    one.decision = Decision(effect=DecisionEffect.ALLOW, reasons=(), obligations=obligations, revision="r")
    line = one.line(DONE, "x" * 20_000)
    assert (len(line.arguments), line.arguments_cut) == (kept, True)
