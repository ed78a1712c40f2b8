"""A server's result of a call as an output. All of it is a stranger's: bounded, and never quoted by us.

A tool that failed: MCP has servers say so in a result (`isError`) whose text is meant for the model, and a model that
does not know what was wrong with its arguments cannot mend them. But the message of an `AdapterError` is read as ours:
it has no labels, nobody looks for secrets in it, and no vendor's text may be there. Hence, of a tool that

- reads: the result is an output like any other, which says `{"is_error": true}` with the server's words as content.
  Where the row has an output schema, which such an answer would break, it is an error in our own words instead.
- writes or sends: it is an error, and whether the effect happened is unknown. A tool may fail when it has done half of
  what it was asked, its text proves nothing, and an output would count as done.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Output, Text
from adapters.mcp_upstream.blocks import MAX_BYTES, Content, read_blocks
from adapters.mcp_upstream.options import Accepted

FAILED = "The upstream's tool says that it failed; check the arguments against its description before the next try."
_UNREADABLE = "The upstream server's answer is no result of a tool."
_ASKS = "The upstream's tool wants to ask somebody before it answers, which it may not; it cannot be used like this."
_TOO_LARGE = "The upstream server's answer is larger than can be taken; ask for less at once."


def output_of(result: Mapping[str, Any], accepted: Accepted) -> Output:
    """What a call brought back. Raises `AdapterError`: a tool that failed as above, `malformed`, or `too_large`.

    `structured` is the structured content as the server gave it, for the row's schema to judge; null when there is
    none. All that came besides is in the content, without a text that is the structured content once more.
    """
    _check_complete(result, accepted)
    is_error = result.get("isError", False)
    if is_error:
        _check_may_fail(accepted)
    structured = {"is_error": True} if is_error else result.get("structuredContent")
    content = read_blocks(result.get("content") or [], room=MAX_BYTES - _bytes_of(structured, accepted))
    return Output(
        structured=structured,
        content=tuple(block for block in content.blocks if not _repeats(block, structured)),
        receipt=_receipt(content, accepted, is_error=is_error),
        cut=content.cut,
    )


def _check_complete(result: Mapping[str, Any], accepted: Accepted) -> None:
    if result.get("resultType", "complete") != "complete":
        raise _error(ErrorKind.FORBIDDEN, _ASKS, accepted, Happened.UNKNOWN)
    if not _is_result(result):
        raise _error(ErrorKind.MALFORMED, _UNREADABLE, accepted, Happened.UNKNOWN)


def _is_result(result: Mapping[str, Any]) -> bool:
    """Whether it holds anything, and every part of it is what it must be."""
    content, is_error = result.get("content"), result.get("isError", False)
    has_content = isinstance(content, list) or (content is None and "structuredContent" in result)
    return has_content and isinstance(is_error, bool)


def _bytes_of(structured: Any, accepted: Accepted) -> int:
    """How large it is as JSON."""
    try:
        size = len(orjson.dumps(structured))
    except orjson.JSONEncodeError as error:  # more levels than can be followed
        raise _error(ErrorKind.MALFORMED, _UNREADABLE, accepted, Happened.UNKNOWN) from error
    if size > MAX_BYTES:
        raise _error(ErrorKind.TOO_LARGE, _TOO_LARGE, accepted, Happened.YES)
    return size


def _check_may_fail(accepted: Accepted) -> None:
    """Only a read whose row has no output schema tells in an output that it failed: see above."""
    if accepted.has_effect or accepted.has_output_schema:
        raise _error(ErrorKind.INVALID, FAILED, accepted, Happened.UNKNOWN)


def _repeats(block: object, structured: Any) -> bool:
    """Whether a text is nothing but the structured content as JSON: servers say it twice, for older clients."""
    if not isinstance(block, Text) or not block.text.lstrip().startswith(("{", "[")):
        return False
    try:
        return bool(orjson.loads(block.text) == structured)
    except ValueError:
        return False


def _receipt(content: Content, accepted: Accepted, *, is_error: bool) -> str:
    told = "called it, and it says that it failed" if is_error else "called it"
    left_out = f"; {content.left_out} parts of its answer were left out" if content.left_out else ""
    return f"{accepted.public_name}: {told}{left_out}."


def _error(kind: ErrorKind, message: str, accepted: Accepted, happened: Happened) -> AdapterError:
    """As known of a tool with an effect; of any other, nothing has happened."""
    fault = Fault.MALFORMED if kind is ErrorKind.MALFORMED else None
    return AdapterError(kind, message, happened=happened if accepted.has_effect else Happened.NO, fault=fault)
