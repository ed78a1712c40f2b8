"""Takes out what a row or an obligation says must not leave: JSON Pointers, `*` for every item or key.

Only structured output has pointers. A tool with redactions must not repeat the same in its text blocks.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateway.result.scrub import MARKER


@dataclass(frozen=True, slots=True)
class Redaction:
    """One path, split once when the row is loaded."""

    pointer: str
    segments: tuple[str, ...]


def compile_redactions(pointers: Iterable[str]) -> tuple[Redaction, ...]:
    """The redactions for some JSON Pointers, each once. Raises `ValueError` for what is not a pointer."""
    return tuple(Redaction(pointer, _segments(pointer)) for pointer in dict.fromkeys(pointers))


def redact(value: Any, redactions: tuple[Redaction, ...]) -> tuple[Any, tuple[str, ...]]:
    """A copy in which every value at a path is the marker, and the pointers that met one.

    The value that came in is not changed; without a hit it is what comes back.
    """
    hit = []
    for redaction in redactions:
        changed = _without(value, redaction.segments)
        if changed is not value:
            value = changed
            hit.append(redaction.pointer)
    return value, tuple(hit)


def _without(value: Any, segments: tuple[str, ...]) -> Any:
    """The value itself when the path leads nowhere in it, otherwise a copy along the path."""
    if not segments:
        return MARKER
    first, rest = segments[0], segments[1:]
    if isinstance(value, dict):
        keys = list(value) if first == "*" else [first] if first in value else []
        changes = {key: _without(value[key], rest) for key in keys}
        return value | changes if any(changes[key] is not value[key] for key in keys) else value
    if isinstance(value, list):
        chosen = range(len(value)) if first == "*" else _index(first, len(value))
        items = list(value)
        for index in chosen:
            items[index] = _without(value[index], rest)
        return items if any(items[index] is not value[index] for index in chosen) else value
    return value


def _index(segment: str, length: int) -> range:
    """The one index that a segment names, or none."""
    if segment.isascii() and segment.isdigit() and int(segment) < length and str(int(segment)) == segment:
        return range(int(segment), int(segment) + 1)
    return range(0)


def _segments(pointer: str) -> tuple[str, ...]:
    if not pointer.startswith("/"):
        raise ValueError("a redaction is a JSON Pointer to something inside the output, such as /user/email")
    return tuple(segment.replace("~1", "/").replace("~0", "~") for segment in pointer[1:].split("/"))
