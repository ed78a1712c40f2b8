"""Outcomes as protobuf: nothing of them is lost, and everything has a name on the wire."""

from pathlib import Path

import pytest

from adapters.base import ArgumentIssue, Binary, Text
from gateway.call import (
    Answer,
    Decision,
    DecisionEffect,
    Explanation,
    Failure,
    Outcome,
    Pending,
    PendingState,
    Result,
    Truncation,
)
from gateway.errors import PolicyReason, Reason
from gateway.result import shape
from gateway.surfaces import messages
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb


def response_of(outcome: Outcome) -> pb.CallToolResponse:
    """What an outcome becomes."""
    return messages.call_response(Answer(call_id="c", effect_id="e", outcome=outcome))


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_reaches_the_wire_with_its_code(reason: Reason) -> None:
    """By its own name, both of them."""
    error = response_of(Failure(reason=reason, message="m")).error
    assert f"REASON_{reason.name}" == codes_pb2.Reason.Name(error.reason)
    assert f"CODE_{Failure(reason=reason, message='').code.name}" == codes_pb2.Code.Name(error.code)


def test_a_failure_keeps_all_that_an_agent_can_act_on() -> None:
    """Issues, the author's reasons, when to come back."""
    failure = Failure(
        reason=Reason.ARGUMENTS_INVALID,
        message="m",
        issues=(ArgumentIssue(path="/a", rule="type", message="A number."),),
        policy_reasons=(PolicyReason(code="c", message="m", advice="a"),),
        retry_after_ms=1500,
    )
    error = response_of(failure).error
    assert (error.message, error.retry_after_ms) == ("m", 1500)
    assert [(issue.path, issue.rule, issue.message) for issue in error.issues] == [("/a", "type", "A number.")]
    assert [(one.code, one.message, one.advice) for one in error.policy_reasons] == [("c", "m", "a")]


def test_a_result_keeps_every_part() -> None:
    """Text and binary blocks in order, JSON bytes as they are, labels, redacted paths."""
    result = Result(
        content=(Text(text="t"), Binary(mime_type="image/png", data=b"\x89")),
        structured_json=b'{"a":1}',
        receipt="Done.",
        labels=("untrusted",),
        redacted_paths=("/b",),
    )
    got = response_of(result).result
    assert [block.WhichOneof("block") for block in got.content] == ["text", "binary"]
    assert (got.content[0].text.text, got.content[1].binary.mime_type, got.content[1].binary.data) == (
        "t",
        "image/png",
        b"\x89",
    )
    assert (got.structured_json, got.receipt) == (b'{"a":1}', "Done.")
    assert (list(got.labels), list(got.redacted_paths)) == (["untrusted"], ["/b"])
    assert not got.HasField("truncation")


@pytest.mark.parametrize("limit", messages._LIMITS)
def test_a_truncation_says_what_cut_it(limit: str) -> None:
    """Limit, both sizes, paths, whether the size is a lower bound, and where the whole is kept."""
    cut = Truncation(limit=limit, original_bytes=9, kept_bytes=3, paths=("/a",), is_at_least=True, artifact_id="art_1")
    got = response_of(Result(content=(), structured_json=b"", receipt="", truncation=cut)).result.truncation
    assert pb.TruncationLimit.Name(got.limit) == f"TRUNCATION_LIMIT_{limit.upper()}"
    assert (got.original_bytes, got.kept_bytes, list(got.paths), got.at_least) == (9, 3, ["/a"], True)
    assert got.artifact_id == "art_1"


def test_every_limit_that_a_result_can_name_is_known() -> None:
    """A limit that the edge does not know would fail a call that was carried out."""
    source = Path(shape.__file__).read_text("utf-8")
    assert {word for word in messages._LIMITS if f'limit="{word}"' in source} == set(messages._LIMITS)
    assert source.count('limit="') == len(messages._LIMITS)


def test_a_pending_call_has_its_approval() -> None:
    """The id, the message, the author's reasons."""
    pending = Pending(approval_id="apr_1", message="m", policy_reasons=(PolicyReason(code="big"),))
    got = response_of(pending).pending
    assert (got.approval_id, got.message, [one.code for one in got.policy_reasons]) == ("apr_1", "m", ["big"])


@pytest.mark.parametrize("state", PendingState)
def test_a_pending_call_says_what_it_waits_for(state: PendingState) -> None:
    """By its own name."""
    got = response_of(Pending(approval_id="", message="m", state=state)).pending
    assert pb.PendingState.Name(got.state) == f"PENDING_STATE_{state.name}"


@pytest.mark.parametrize("is_replay", [True, False])
def test_an_answer_names_its_call_and_the_effect_that_it_tells_of(is_replay: bool) -> None:
    """And whether it was done before."""
    outcome = Pending(approval_id="a", message="m")
    got = messages.call_response(Answer(call_id="c", effect_id="e", outcome=outcome, is_replay=is_replay))
    assert (got.call_id, got.effect_id, got.replay) == ("c", "e", is_replay)


@pytest.mark.parametrize("effect", DecisionEffect)
def test_an_explanation_has_the_decision(effect: DecisionEffect) -> None:
    """Effect, revision and reasons; no error when the call would run or be parked."""
    decision = Decision(effect=effect, reasons=(PolicyReason(code="c"),), obligations=(), revision="sha256:1")
    got = messages.explain_response(Explanation(call_id="c", decision=decision, failure=None))
    assert pb.Effect.Name(got.effect) == f"EFFECT_{effect.name}"
    assert (got.policy_revision, [one.code for one in got.policy_reasons]) == ("sha256:1", ["c"])
    assert not got.HasField("error")


def test_an_explanation_without_a_decision_has_the_error_that_a_call_would_get() -> None:
    """It never came to policy: no effect and no revision are made up."""
    failure = Failure(reason=Reason.SCOPE_MISSING, message="m")
    got = messages.explain_response(Explanation(call_id="c", decision=None, failure=failure))
    assert (got.call_id, got.effect, got.policy_revision) == ("c", pb.EFFECT_UNSPECIFIED, "")
    assert codes_pb2.Reason.Name(got.error.reason) == "REASON_SCOPE_MISSING"
