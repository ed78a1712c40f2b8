"""A result as bytes, and back: what is kept of it for a repeated key."""

import base64
import binascii
import json
from typing import Any

from adapters.base import Binary, Text
from gateway.call import Result, Truncation

FORMAT = 1


class ResultUnreadable(Exception):  # noqa: N818 - named for what it is
    """These are not the bytes of a result. Holds nothing of them."""


def encode(result: Result) -> bytes:
    """The result as JSON. ASCII, so that text of any kind survives."""
    cut = result.truncation
    return json.dumps(
        {
            "format": FORMAT,
            "content": [_block(block) for block in result.content],
            "structured": _text(result.structured_json),
            "receipt": result.receipt,
            "truncation": cut and [cut.limit, cut.original_bytes, cut.kept_bytes, cut.paths, cut.is_at_least],
            "labels": result.labels,
            "redacted_paths": result.redacted_paths,
            "scrubbed": result.scrubbed,
        }
    ).encode()


def decode(raw: bytes) -> Result:
    """The result again. Raises `ResultUnreadable`."""
    try:
        kept = json.loads(raw)
        if kept["format"] != FORMAT:
            raise ResultUnreadable("a result of another format")
        return Result(
            content=tuple(_from_block(block) for block in kept["content"]),
            structured_json=_bytes(kept["structured"]),
            receipt=kept["receipt"],
            truncation=kept["truncation"] and _truncation(*kept["truncation"]),
            labels=tuple(kept["labels"]),
            redacted_paths=tuple(kept["redacted_paths"]),
            scrubbed=kept["scrubbed"],
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, binascii.Error):
        raise ResultUnreadable("not a result") from None  # the error would quote it


def _block(block: Text | Binary) -> list[str]:
    return [block.mime_type, _text(block.data)] if isinstance(block, Binary) else [block.text]


def _from_block(block: list[str]) -> Text | Binary:
    if len(block) == 1:
        return Text(text=block[0])
    mime_type, data = block
    return Binary(mime_type=mime_type, data=_bytes(data))


def _truncation(limit: str, original_bytes: int, kept_bytes: int, paths: Any, is_at_least: bool) -> Truncation:
    return Truncation(
        limit=limit,
        original_bytes=original_bytes,
        kept_bytes=kept_bytes,
        paths=tuple(paths),
        is_at_least=is_at_least,
    )


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
