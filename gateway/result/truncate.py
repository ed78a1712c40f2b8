"""Makes a result fit: the longest strings are shortened first, all to one length.

A shortened string keeps its beginning and its end, with how many bytes are missing between them. What comes out is
valid JSON. A string is never cut inside a character or a scrub marker.
"""

import re
import sys
from typing import Any, NamedTuple

import orjson

from adapters.base import Binary, Text
from gateway.result.scrub import MARKER

CUT = re.compile(r"…\[(\d+) bytes cut\]…")
"""What stands where something is missing, and how much that was: bytes of UTF-8."""
MIN_STRING = 48
"""Strings are not shortened below this many bytes: what is left would tell nothing."""
MAX_NODES = 50_000
"""A value with more parts is not walked, but dropped as a whole: the walk would hold up everybody else."""
MAX_PATHS = 20

Blocks = tuple[Text | Binary, ...]


class Fitted(NamedTuple):
    """What fits, and what was done to it. `structured` is None when it had to be dropped."""

    structured: Any
    serialised: bytes
    content: Blocks
    paths: tuple[str, ...]
    """JSON Pointers of the shortened strings in `structured`, at most 20; the root when it was dropped."""


def size_of(serialised: bytes, content: Blocks) -> int:
    """The bytes that a result takes: structured output as JSON, text as UTF-8, binary as it is."""
    return len(serialised) + sum(map(_block_size, content))


def fit(structured: Any, serialised: bytes, content: Blocks, max_bytes: int) -> Fitted:
    """The result in at most `max_bytes`, which must leave room for a sentence (256)."""
    content = _without_large_binaries(content, len(serialised), max_bytes)
    if size_of(serialised, content) <= max_bytes:
        return Fitted(structured, serialised, content, ())
    lengths: list[int] = []
    if _measure(structured, lengths, MAX_NODES) >= 0:
        fitted = _shortened(structured, serialised, content, lengths, max_bytes)
        if fitted is not None:
            return fitted
    return drop_structured(content, max_bytes)


def drop_structured(content: Blocks, max_bytes: int) -> Fitted:
    """Only text, shortened to what is left after a notice."""
    notice = Text(text="[The structured output is too large and was left out. Ask for less at a time.]")
    room = max_bytes - _block_size(notice)
    texts = tuple(block for block in content if isinstance(block, Text))
    fitted = _shortened(None, b"", texts, [], room)
    kept = fitted.content if fitted is not None else ()
    return Fitted(None, b"", (notice, *kept), ("",))


def _without_large_binaries(content: Blocks, other_bytes: int, max_bytes: int) -> Blocks:
    """Binary data cannot be shortened: while everything is too large, the largest goes, and says so."""
    blocks = list(content)
    by_size = [index for index, block in enumerate(blocks) if isinstance(block, Binary)]
    by_size.sort(key=lambda index: _block_size(blocks[index]))
    while by_size and other_bytes + sum(map(_block_size, blocks)) > max_bytes:
        index = by_size.pop()
        size = _block_size(blocks[index])
        blocks[index] = Text(text=f"[{size} bytes of binary content were too large and were left out.]")
    return tuple(blocks)


def _shortened(
    structured: Any, serialised: bytes, content: Blocks, lengths: list[int], max_bytes: int
) -> Fitted | None:
    """Everything with its strings cut to the longest common length that fits; None when none does."""
    text_lengths = [len(block.text.encode()) for block in content if isinstance(block, Text)]
    all_lengths = lengths + text_lengths
    fixed = size_of(serialised, content) - sum(all_lengths)
    limit = _common_length(all_lengths, max_bytes - fixed)
    if limit < MIN_STRING:
        return None
    paths: list[str] = []
    if structured is not None:
        structured = _cut_value(structured, limit, "", paths)
        serialised = orjson.dumps(structured)
    blocks = tuple(_cut_block(block, limit) for block in content)
    return Fitted(structured, serialised, blocks, tuple(paths[:MAX_PATHS]))


def _common_length(lengths: list[int], room: int) -> int:
    """The largest L for which the lengths, each cut to L, add up to no more than the room; a number beyond
    them all when nothing has to be cut.
    """
    left = len(lengths)
    for length in sorted(lengths):
        if length * left > room:
            return room // left if room > 0 else 0
        room -= length
        left -= 1
    return sys.maxsize


def _measure(value: Any, lengths: list[int], budget: int) -> int:
    """Notes the serialised length of every string value. Returns what is left of the budget; below 0 it
    gave up.
    """
    budget -= 1
    if isinstance(value, str):
        lengths.append(len(orjson.dumps(value)) - 2)
        return budget
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for item in items:
        if budget < 0:
            break
        budget = _measure(item, lengths, budget)
    return budget


def _cut_value(value: Any, limit: int, path: str, paths: list[str]) -> Any:
    if isinstance(value, str):
        short = cut_string(value, limit)
        if short is not value:
            paths.append(path)
        return short
    if isinstance(value, dict):
        return {key: _cut_value(item, limit, f"{path}/{_escape(key)}", paths) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cut_value(item, limit, f"{path}/{index}", paths) for index, item in enumerate(value)]
    return value


def _cut_block(block: Text | Binary, limit: int) -> Text | Binary:
    if isinstance(block, Binary):
        return block
    raw = block.text.encode()
    if len(raw) <= limit:
        return block
    head, tail = _room(len(raw), limit)
    first = len(raw[:head].decode("utf-8", "ignore"))
    last = len(raw[len(raw) - tail :].decode("utf-8", "ignore"))
    return Text(text=_joined(block.text, first, len(block.text) - last))


def cut_string(text: str, limit: int) -> str:
    """The text itself, or as much of its beginning and its end as takes, with what stands between them, `limit` bytes
    in serialised JSON.
    """
    if len(text) * 6 <= limit:  # no character takes more than six bytes in JSON
        return text
    serialised = orjson.dumps(text)[1:-1]
    if len(serialised) <= limit:
        return text
    head, tail = _room(len(serialised), limit)
    return _joined(text, len(_whole(serialised[:head])), len(text) - _last(text, tail))


def _room(size: int, limit: int) -> tuple[int, int]:
    """How many bytes beginning and end may take, for what is no longer than this in UTF-8."""
    room = max(0, limit - len(_mark(size).encode()))
    return room - room // 2, room // 2


def _mark(dropped: int) -> str:
    return f"…[{dropped} bytes cut]…"


def _joined(text: str, first: int, last: int) -> str:
    """The first characters and those from `last` on, with what is missing between them; fewer of both where one
    would be a part of a scrub marker.
    """
    head, tail = text[: _before_marker(text, first)], text[_after_marker(text, last) :]
    dropped = len(text.encode()) - len(head.encode()) - len(tail.encode())
    return head + _mark(dropped) + tail


def _whole(piece: bytes) -> str:
    """The string that a piece of serialised JSON stands for, without the character that it cuts in two."""
    for back in range(7):
        try:
            return str(orjson.loads(b'"' + piece[: len(piece) - back] + b'"'))
        except orjson.JSONDecodeError:
            continue
    return ""


def _last(text: str, room: int) -> int:
    """How many of the last characters take no more room than this in serialised JSON."""
    low, high = min(room // 6, len(text)), min(room, len(text))
    while low < high:
        middle = (low + high + 1) // 2
        if len(orjson.dumps(text[len(text) - middle :])) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _before_marker(text: str, length: int) -> int:
    """So many characters, fewer when the last of them would be a part of a scrub marker."""
    start = text.rfind(MARKER, 0, length + len(MARKER) - 1)
    return start if start >= 0 and start < length < start + len(MARKER) else length


def _after_marker(text: str, start: int) -> int:
    """From where on: later when the first characters would be a part of a scrub marker."""
    marker = text.find(MARKER, max(0, start - len(MARKER) + 1))
    return marker + len(MARKER) if 0 <= marker < start < marker + len(MARKER) else start


def _block_size(block: Text | Binary) -> int:
    return len(block.text.encode()) if isinstance(block, Text) else len(block.data)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
