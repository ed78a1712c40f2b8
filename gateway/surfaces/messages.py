"""Outcomes as protobuf, for every gRPC surface that tells of calls."""

from typing import Any

from adapters.base import Text
from gateway.call import Answer, Explanation, Failure, Pending, PendingState, Result, Truncation
from gateway.errors import Code, PolicyReason, Reason
from gateway.handles.base import Stopped
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

CODES: dict[Code, Any] = {code: codes_pb2.Code.Value(f"CODE_{code.name}") for code in Code}
REASONS: dict[Reason, Any] = {reason: codes_pb2.Reason.Value(f"REASON_{reason.name}") for reason in Reason}
_EFFECTS = {
    "allow": pb.EFFECT_ALLOW,
    "deny": pb.EFFECT_DENY,
    "require_approval": pb.EFFECT_REQUIRE_APPROVAL,
}
_LIMITS = {
    "result_bytes": pb.TRUNCATION_LIMIT_RESULT_BYTES,
    "vendor_bytes": pb.TRUNCATION_LIMIT_VENDOR_BYTES,
}
_STATES = {
    PendingState.APPROVAL: pb.PENDING_STATE_APPROVAL,
    PendingState.RUNNING: pb.PENDING_STATE_RUNNING,
}

STOPPED: dict[Stopped, Any] = {kind: pb.Cancelled.Value(f"CANCELLED_{kind.name}") for kind in Stopped}


def call_response(answer: Answer) -> pb.CallToolResponse:
    """The answer, whatever its outcome."""
    response = pb.CallToolResponse(call_id=answer.call_id, effect_id=answer.effect_id, replay=answer.is_replay)
    outcome = answer.outcome
    if isinstance(outcome, Result):
        _fill_result(response.result, outcome)
    elif isinstance(outcome, Failure):
        fill_error(response.error, outcome)
    else:
        _fill_pending(response.pending, outcome)
    return response


def _fill_result(target: pb.ToolResult, result: Result) -> None:
    target.structured_json = result.structured_json
    target.receipt = result.receipt
    if result.labels:
        target.labels.extend(result.labels)
    if result.redacted_paths:
        target.redacted_paths.extend(result.redacted_paths)
    for block in result.content:
        if isinstance(block, Text):
            target.content.add().text.text = block.text
        else:
            target.content.add(binary=pb.BinaryBlock(mime_type=block.mime_type, data=block.data))
    if result.truncation is not None:
        target.truncation.CopyFrom(_truncation(result.truncation))


def _truncation(cut: Truncation) -> pb.Truncation:
    return pb.Truncation(
        limit=_LIMITS[cut.limit],
        original_bytes=cut.original_bytes,
        kept_bytes=cut.kept_bytes,
        paths=cut.paths,
        at_least=cut.is_at_least,
        artifact_id=cut.artifact_id,
    )


def fill_error(target: pb.ToolError, failure: Failure) -> None:
    """The failure, written into its message."""
    target.code = CODES[failure.code]
    target.reason = REASONS[failure.reason]
    target.message = failure.message
    target.retry_after_ms = failure.retry_after_ms
    for issue in failure.issues:
        target.issues.add(path=issue.path, rule=issue.rule, message=issue.message)
    _add_reasons(target.policy_reasons, failure.policy_reasons)


def _fill_pending(target: pb.PendingCall, pending: Pending) -> None:
    target.approval_id = pending.approval_id
    target.message = pending.message
    target.state = _STATES[pending.state]
    _add_reasons(target.policy_reasons, pending.policy_reasons)


def _add_reasons(target: Any, reasons: tuple[PolicyReason, ...]) -> None:
    for reason in reasons:
        target.add(code=reason.code, message=reason.message, advice=reason.advice)


def explain_response(explanation: Explanation) -> pb.ExplainCallResponse:
    """What a call would get."""
    response = pb.ExplainCallResponse(call_id=explanation.call_id)
    if explanation.decision is not None:
        response.effect = _EFFECTS[explanation.decision.effect.value]
        response.policy_revision = explanation.decision.revision
        _add_reasons(response.policy_reasons, explanation.decision.reasons)
    if explanation.failure is not None:
        fill_error(response.error, explanation.failure)
    return response
