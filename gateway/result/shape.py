"""Step 13: what an adapter brought back becomes what an agent may see.

In this order: credentials out, the output schema, redactions, the size cap, labels. The schema judges
what the vendor produced, hence before our own redactions and cuts.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from adapters.base import Binary, Cut, Fault, Output, Secret, Text
from gateway.call import Obligation, Result, Truncation
from gateway.errors import Reason, Refusal
from gateway.result.redact import Redaction, compile_redactions, redact
from gateway.result.scrub import PLAIN, scrub_blocks, scrub_json, scrub_string
from gateway.result.truncate import Blocks, Fitted, cut_string, drop_structured, fit, size_of
from gateway.rows import Schema, Sensitivity, Tool, Trust

RECEIPT_BYTES = 1024
MIN_RESULT_BYTES = 512
"""An obligation cannot make results smaller than this: a notice has to fit."""

Keep = Callable[[bytes], str]
"""Keeps a whole result for a while; gives the id that it is read by, or nothing when it is not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """All that a tool's row, and what policy obliges, say about its results. Made once per row."""

    schema: Schema | None
    redactions: tuple[Redaction, ...]
    labels: tuple[str, ...]
    max_bytes: int
    is_whole_kept: bool = True
    """Whether what is over the cap may be read in parts: not where policy, and not the tool's row, set the cap."""

    def under(self, obligations: tuple[Obligation, ...]) -> "Shaping":
        """The same, made stricter by a decision: more paths taken out, fewer bytes, not trusted."""
        paths: list[str] = []
        labels, max_bytes, is_whole_kept = self.labels, self.max_bytes, self.is_whole_kept
        for obligation in obligations:
            if obligation.type == "redact":
                paths += obligation.value["paths"]
            elif obligation.type == "max_result_bytes":
                max_bytes, is_whole_kept = min(max_bytes, max(int(obligation.value), MIN_RESULT_BYTES)), False
            elif obligation.type == "mark_untrusted" and "untrusted" not in labels:
                labels = ("untrusted", *labels)
        return replace(
            self,
            redactions=self.redactions + compile_redactions(paths),
            labels=labels,
            max_bytes=max_bytes,
            is_whole_kept=is_whole_kept,
        )


def shaping_of(tool: Tool, schema: Schema | None) -> Shaping:
    """The shaping of a tool's results; `schema` is its output schema, compiled."""
    return Shaping(
        schema=schema,
        redactions=compile_redactions(tool.redactions),
        labels=_labels(tool),
        max_bytes=max(tool.max_result_bytes, MIN_RESULT_BYTES),
    )


def shape(output: Output, shaping: Shaping, secrets: tuple[Secret, ...], keep: Keep | None = None) -> Result:
    """The result for the agent. What is over its cap is cut, and given to `keep` as it was before that: without
    credentials, redacted. Raises `Refusal(output_invalid)`, which names paths and no values.
    """
    value, serialised, found = scrub_json(output.structured, _serialised(output.structured), secrets)
    content, found_in_content = scrub_blocks(tuple(map(_sendable_block, output.content)), secrets)
    receipt, found_in_receipt = scrub_string(_sendable(output.receipt), secrets)
    _check(value, output, shaping.schema)
    redacted: tuple[str, ...] = ()
    if shaping.redactions and serialised:
        value, redacted = redact(value, shaping.redactions)
        serialised = orjson.dumps(value) if redacted else serialised
    before = size_of(serialised, content)
    paths: tuple[str, ...] | None = None
    artifact_id = ""
    if before > shaping.max_bytes:
        if keep is not None and shaping.is_whole_kept:
            artifact_id = _kept(serialised, content, keep)
        fitted = _fitted(value, serialised, content, shaping, is_redacted=bool(redacted))
        serialised, content, paths = fitted.serialised, fitted.content, fitted.paths
    return Result(
        content=content,
        structured_json=serialised,
        receipt=cut_string(receipt, RECEIPT_BYTES),
        truncation=_truncation(before, size_of(serialised, content), paths, output.cut, artifact_id),
        labels=shaping.labels,
        redacted_paths=redacted,
        scrubbed=found + found_in_content + found_in_receipt,
    )


def _sendable_block(block: Text | Binary) -> Text | Binary:
    if isinstance(block, Binary):
        mime_type = _sendable(block.mime_type)
        return block if mime_type is block.mime_type else Binary(mime_type=mime_type, data=block.data)
    text = _sendable(block.text)
    return block if text is block.text else Text(text=text)


def _sendable(text: str) -> str:
    """The text itself, or with question marks for lone surrogates, which cannot travel as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _serialised(value: Any) -> bytes:
    """The value as JSON; empty for an output that has no structured part."""
    if value is None:
        return b""
    try:
        return orjson.dumps(value, option=PLAIN)
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise Refusal(
            Reason.OUTPUT_INVALID, "The tool brought back something that is not JSON.", fault=Fault.MALFORMED
        ) from error


def _check(value: Any, output: Output, schema: Schema | None) -> None:
    """The scrubbed value keeps to the output schema. An output of nothing but a receipt need not."""
    if schema is None or (value is None and not output.content):
        return
    if schema.is_valid(value):
        return
    issues = schema.issues(value)
    where = ", ".join(f"{issue.path or '/'} ({issue.rule})" for issue in issues[:3])
    raise Refusal(
        Reason.OUTPUT_INVALID,
        f"The tool brought back something that breaks its own output schema at {where or '/'}.",
        fault=Fault.MALFORMED,
    )


def _kept(serialised: bytes, content: Blocks, keep: Keep) -> str:
    """The id of the whole; empty when it could not be kept, which never fails the call."""
    try:
        return keep(whole_of(serialised, content))
    except Exception:  # noqa: BLE001 - see above
        return ""


def whole_of(serialised: bytes, content: Blocks) -> bytes:
    """A result as one artifact: what it is when it has one part alone, otherwise a JSON document of all parts."""
    if not content:
        return serialised
    if not serialised and len(content) == 1:
        only = content[0]
        return only.text.encode() if isinstance(only, Text) else only.data
    blocks = b",".join(orjson.dumps(_block(block)) for block in content)
    return b'{"structured":' + (serialised or b"null") + b',"content":[' + blocks + b"]}"


def _block(block: Text | Binary) -> dict[str, str]:
    if isinstance(block, Text):
        return {"text": block.text}
    return {"mime_type": block.mime_type, "data_base64": base64.b64encode(block.data).decode()}


def _fitted(value: Any, serialised: bytes, content: Blocks, shaping: Shaping, *, is_redacted: bool) -> Fitted:
    """What fits. A structured part that its schema does not allow once it is shortened is left out,
    unless our own redactions broke the schema before.
    """
    fitted = fit(value, serialised, content, shaping.max_bytes)
    if fitted.structured is None or shaping.schema is None or is_redacted or shaping.schema.is_valid(fitted.structured):
        return fitted
    return drop_structured(content, shaping.max_bytes)


def _truncation(
    before: int, after: int, paths: tuple[str, ...] | None, cut: Cut | None, artifact_id: str
) -> Truncation | None:
    """The evidence of what is missing: by our cap, by the adapter that stopped reading, or by both."""
    if paths is not None:
        original = max(before, cut.seen_bytes) if cut else before
        return Truncation(
            limit="result_bytes",
            original_bytes=original,
            kept_bytes=after,
            paths=paths,
            is_at_least=cut is not None,
            artifact_id=artifact_id,
        )
    if cut is not None:
        return Truncation(
            limit="vendor_bytes", original_bytes=cut.seen_bytes, kept_bytes=cut.read_bytes, is_at_least=True
        )
    return None


def _labels(tool: Tool) -> tuple[str, ...]:
    """Whose words these are and how private, for the whole and for the fields that differ."""
    labels = [tool.trust.value] if tool.trust is not Trust.TRUSTED else []
    if tool.sensitivity is Sensitivity.PRIVATE:
        labels.append(tool.sensitivity.value)
    labels += [f"{trust.value}:{pointer}" for pointer, trust in sorted(tool.field_trust.items())]
    labels += [f"{level.value}:{pointer}" for pointer, level in sorted(tool.field_sensitivity.items())]
    return tuple(labels)
