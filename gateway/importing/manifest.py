"""Proposed rows as a manifest with comments, for a person to edit. Read again it says exactly what was proposed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.importing.proposing import LeftOut, Proposal, ProposedTool

WIDTH = 100
MAX_NOTES = 20
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]{0,80}")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""What YAML 1.1 takes for something else than a text."""

HEAD = (
    "Proposed by `tollhouse registry import`. Nothing of it counts before it is applied.",
    "Look at every line that says `review`: side effects are guessed, and the words are the vendor's.",
)


def written(proposal: Proposal, *, source: str) -> str:
    """The manifest; `source` is what it was made of."""
    connection = proposal.connection
    above = ["connections:", *_row(connection.row, connection.reviews)]
    return _manifest(source, above, proposal.tools, proposal.skipped)


def tools_written(tools: Sequence[ProposedTool], skipped: Sequence[LeftOut], *, source: str) -> str:
    """The same of tools whose connection is there already."""
    return _manifest(source, [], tools, skipped)


def _manifest(source: str, above: Sequence[str], tools: Sequence[ProposedTool], skipped: Sequence[LeftOut]) -> str:
    lines = [*(_comment(line) for line in (*HEAD, f"Made of {source}.")), *above]
    if tools:
        lines.append("tools:")
    for tool in tools:
        lines += [f"  {_comment(tool.operation)}", *(f"  {_comment(note)}" for note in _notes(tool.notes))]
        lines += _row(tool.row, tool.reviews)
    lines += [_comment(f"skipped: {one.operation}: {one.reason}") for one in skipped]
    return "\n".join(lines) + "\n"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    yield from (f"review: {note}" for note in notes[:MAX_NOTES])
    if len(notes) > MAX_NOTES:
        yield f"review: {len(notes) - MAX_NOTES} more parts are left out"


def _comment(text: str, most: int = 300) -> str:
    """One line, whatever the text holds."""
    shown = "".join(one if one.isprintable() else "?" for one in text[:most])
    return f"# {shown}"


def _row(row: Mapping[str, Any], reviews: Mapping[str, str]) -> Iterator[str]:
    start = "- "
    for key, value in row.items():
        first, *rest = _entry(key, value, 2)
        review = f"  {_comment(f'review: {reviews[key]}')}" if key in reviews else ""
        yield f"{start}{first[2:]}{review}"
        yield from rest
        start = "  "


def _entry(key: str, value: Any, indent: int) -> list[str]:
    """A key and its value: on one line when there is room."""
    head = f"{' ' * indent}{_scalar(key)}:"
    flow = _flow(value)
    if flow is not None and (len(head) + len(flow) < WIDTH or value in ([], {})):
        return [f"{head} {flow}"]
    if isinstance(value, dict):
        return [head, *(line for name, one in value.items() for line in _entry(name, one, indent + 2))]
    if isinstance(value, list):
        return [head, *(line for one in value for line in _item(one, indent))]
    if isinstance(value, str) and _folds(value):
        return [f"{head} >-", *(f"{' ' * (indent + 2)}{line}" for line in _wrapped(value, WIDTH - indent - 2))]
    return [f"{head} {_scalar(value)}"]


def _item(value: Any, indent: int) -> list[str]:
    dash = f"{' ' * indent}- "
    flow = _flow(value)
    if flow is not None and (len(dash) + len(flow) < WIDTH or not (isinstance(value, dict | list) and value)):
        return [f"{dash}{flow}"]
    if isinstance(value, dict):
        lines = [line for name, one in value.items() for line in _entry(name, one, indent + 2)]
    else:
        lines = [line for one in value for line in _item(one, indent + 2)]
    return [f"{dash}{lines[0][indent + 2 :]}", *lines[1:]]


def _flow(value: Any) -> str | None:
    """The value on one line; None when it is too long for that, or holds too much to be read so."""
    if isinstance(value, dict):
        parts = [(_scalar(key), _leaf(one)) for key, one in value.items()]
        whole = None if any(leaf is None for _, leaf in parts) else ", ".join(f"{key}: {leaf}" for key, leaf in parts)
        return None if whole is None or len(whole) > WIDTH else f"{{{whole}}}"
    if isinstance(value, list):
        leaves = [_leaf(one) for one in value]
        whole = None if None in leaves else ", ".join(str(leaf) for leaf in leaves)
        return None if whole is None or len(whole) > WIDTH else f"[{whole}]"
    return _scalar(value)


def _leaf(value: Any) -> str | None:
    """A value inside of one that stands on a line."""
    if isinstance(value, dict | list) and value:
        is_flat = isinstance(value, list) and not any(isinstance(one, dict | list) for one in value)
        return _flow(value) if is_flat else None
    return _flow(value)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _folds(text: str) -> bool:
    """Whether it can be told on several lines: words with one blank between them."""
    return text.isprintable() and " ".join(text.split()) == text and "\ufeff" not in text


def _wrapped(text: str, width: int) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > max(width, 40):
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
