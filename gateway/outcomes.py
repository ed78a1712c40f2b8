"""How a call ended, as bytes and back: what is kept of it for a repeated key or for whoever asks later."""

import base64
import binascii
import json
from typing import Any

from adapters.base import ArgumentIssue, Binary, Fault, Text
from gateway.call import Failure, Result, Truncation
from gateway.errors import PolicyReason, Reason

FORMAT = 1


class OutcomeUnreadable(Exception):  # noqa: N818 - named for what it is
    """These are not the bytes of an outcome. Holds nothing of them."""


def encode(outcome: Result | Failure) -> bytes:
    """The outcome as JSON. ASCII, so that text of any kind survives."""
    kept = _kept_result(outcome) if isinstance(outcome, Result) else {"failure": _kept_failure(outcome)}
    return json.dumps({"format": FORMAT, **kept}).encode()


def decode(raw: bytes) -> Result | Failure:
    """The outcome again. Raises `OutcomeUnreadable`."""
    try:
        kept = json.loads(raw)
        if kept["format"] != FORMAT:
            raise OutcomeUnreadable("an outcome of another format")
        return _failure(kept["failure"]) if "failure" in kept else _result(kept)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, binascii.Error):
        raise OutcomeUnreadable("not an outcome") from None  # the error would quote it


def decode_result(raw: bytes) -> Result:
    """The same of a call that was carried out. Raises `OutcomeUnreadable`, also for one that was stopped."""
    outcome = decode(raw)
    if not isinstance(outcome, Result):
        raise OutcomeUnreadable("not a result")
    return outcome


def _kept_result(result: Result) -> dict[str, Any]:
    cut = result.truncation
    return {
        "content": [_block(block) for block in result.content],
        "structured": _text(result.structured_json),
        "receipt": result.receipt,
        "truncation": cut
        and [cut.limit, cut.original_bytes, cut.kept_bytes, cut.paths, cut.is_at_least, cut.artifact_id],
        "labels": result.labels,
        "redacted_paths": result.redacted_paths,
        "scrubbed": result.scrubbed,
    }


def _result(kept: dict[str, Any]) -> Result:
    return Result(
        content=tuple(_from_block(block) for block in kept["content"]),
        structured_json=_bytes(kept["structured"]),
        receipt=kept["receipt"],
        truncation=kept["truncation"] and _truncation(*kept["truncation"]),
        labels=tuple(kept["labels"]),
        redacted_paths=tuple(kept["redacted_paths"]),
        scrubbed=kept["scrubbed"],
    )


def _kept_failure(failure: Failure) -> dict[str, Any]:
    return {
        "reason": failure.reason,
        "message": failure.message,
        "issues": [[issue.path, issue.rule, issue.message] for issue in failure.issues],
        "policy_reasons": [[each.code, each.message, each.advice] for each in failure.policy_reasons],
        "retry_after_ms": failure.retry_after_ms,
        "fault": failure.fault,
    }


def _failure(kept: dict[str, Any]) -> Failure:
    return Failure(
        reason=Reason(kept["reason"]),
        message=kept["message"],
        issues=tuple(ArgumentIssue(path=path, rule=rule, message=text) for path, rule, text in kept["issues"]),
        policy_reasons=tuple(
            PolicyReason(code=code, message=text, advice=advice) for code, text, advice in kept["policy_reasons"]
        ),
        retry_after_ms=kept["retry_after_ms"],
        fault=kept["fault"] and Fault(kept["fault"]),
    )


def _block(block: Text | Binary) -> list[str]:
    return [block.mime_type, _text(block.data)] if isinstance(block, Binary) else [block.text]


def _from_block(block: list[str]) -> Text | Binary:
    if len(block) == 1:
        return Text(text=block[0])
    mime_type, data = block
    return Binary(mime_type=mime_type, data=_bytes(data))


def _truncation(
    limit: str, original_bytes: int, kept_bytes: int, paths: Any, is_at_least: bool, artifact_id: str
) -> Truncation:
    return Truncation(
        limit=limit,
        original_bytes=original_bytes,
        kept_bytes=kept_bytes,
        paths=tuple(paths),
        is_at_least=is_at_least,
        artifact_id=artifact_id,
    )


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
