"""The content of a server's result: what can be shown of it, as text and binary blocks."""

import base64
import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Binary, Cut, Text
from adapters.transport.values import part, word

MAX_BLOCKS = 100
MAX_BYTES = 4 * 1024 * 1024
"""Of all that an answer holds."""
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}")
_MAX_TOLD = 1000
_TOLD = {"uri": "uri", "name": "name", "title": "title", "description": "description", "mimeType": "mime_type"}
"""What is told of something that a server refers to. Nobody here fetches it."""

Block = Text | Binary


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What came, and what of it is missing."""

    blocks: Sequence[Block] = field(repr=False)
    left_out: int
    """How many of the server's blocks: of a kind that is not known, not as its kind is, or beyond the bounds."""
    cut: Cut | None
    """When some were beyond the bounds."""


def read_blocks(content: Sequence[Any], *, room: int) -> Content:
    """Blocks of at most so many bytes, in their order, at most a hundred of the server's. Never raises."""
    blocks: list[Block] = []
    left_out, kept_bytes, seen_bytes = max(len(content) - MAX_BLOCKS, 0), 0, 0
    is_cut = left_out > 0
    for raw in content[:MAX_BLOCKS]:
        read = _read(raw)
        size = sum(map(_size, read))
        seen_bytes += size
        if read and kept_bytes + size <= room:
            blocks += read
            kept_bytes += size
        else:
            left_out += 1
            is_cut = is_cut or bool(read)
    cut = Cut(read_bytes=kept_bytes, seen_bytes=max(seen_bytes, kept_bytes + 1)) if is_cut else None
    return Content(blocks=blocks, left_out=left_out, cut=cut)


def _read(raw: object) -> Sequence[Block]:
    """None of what cannot be shown."""
    if not isinstance(raw, Mapping):
        return ()
    reader = _READERS.get(word(raw, "type"))
    return () if reader is None else tuple(reader(raw))


def _text(raw: Mapping[str, Any]) -> Iterable[Block]:
    if isinstance(raw.get("text"), str):
        yield Text(text=raw["text"])


def _media(raw: Mapping[str, Any]) -> Iterable[Block]:
    """Of an image or a recording, and of nothing that says to be something else."""
    if _media_type(raw).startswith(f"{raw['type']}/"):
        yield from _binary(raw, "data")


def _resource(raw: Mapping[str, Any]) -> Iterable[Block]:
    """Which it is, and then what it holds."""
    resource = part(raw, "resource")
    held = [*_text(resource), *_binary(resource, "blob")]
    if held:
        yield _told(resource)
        yield from held


def _link(raw: Mapping[str, Any]) -> Iterable[Block]:
    if word(raw, "uri"):
        yield _told(raw)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[Block]]] = {
    "text": _text,
    "image": _media,
    "audio": _media,
    "resource": _resource,
    "resource_link": _link,
}


def _binary(raw: Mapping[str, Any], member: str) -> Iterable[Block]:
    """Base64 of the usual alphabet, and nothing else."""
    if not isinstance(raw.get(member), str):
        return
    with contextlib.suppress(ValueError):
        data = base64.b64decode(raw[member].encode("ascii"), validate=True)
        yield Binary(mime_type=_media_type(raw) or "application/octet-stream", data=data)


def _media_type(raw: Mapping[str, Any]) -> str:
    """Without parameters; empty for what is none."""
    name = word(raw, "mimeType").partition(";")[0].strip().lower()
    return name if _MEDIA_TYPE.fullmatch(name) else ""


def _told(raw: Mapping[str, Any]) -> Text:
    """What a server says of a resource, on one line that no text of its own can be mistaken for the end of."""
    known = {ours: word(raw, theirs)[:_MAX_TOLD] for theirs, ours in _TOLD.items() if word(raw, theirs)}
    return Text(text=json.dumps({"resource": known}, ensure_ascii=False, separators=(",", ":")))


def _size(block: Block) -> int:
    return len(block.data) if isinstance(block, Binary) else len(block.text.encode("utf-8", "replace"))
