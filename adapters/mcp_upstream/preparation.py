"""The arguments of a call go to the server as they are: the row's schema has judged them."""

import math
from collections.abc import Iterator
from typing import Any

from adapters.base import ArgumentIssue, ArgumentProblem

MAX_LEVELS = 64
_MAX_INTEGER = 2**63
_MESSAGES = {
    "characters": "holds half a character, which cannot be sent",
    "number": "must be a number of at most 64 bits, and not without end",
    "json": "is nothing that can be sent as JSON",
    "depth": f"has more than {MAX_LEVELS} levels",
}


def prepare(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments themselves. Raises `ArgumentProblem` for what cannot be sent as JSON."""
    issues = [
        ArgumentIssue(path=path or "/", rule=rule, message=f"This {_MESSAGES[rule]}.")
        for path, rule in _wrong(arguments, "", 0)
    ]
    if issues:
        raise ArgumentProblem(*issues)
    return arguments


def _wrong(value: Any, path: str, level: int) -> Iterator[tuple[str, str]]:
    if level > MAX_LEVELS:
        yield path, "depth"
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _wrong(part, f"{path}/{_segment(name)}", level + 1)
            yield from _wrong(name, f"{path}/{_segment(name)}", level)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _wrong(part, f"{path}/{index}", level + 1)
    elif not _is_plain(value):
        yield path, _rule(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return -_MAX_INTEGER <= value < _MAX_INTEGER
    return isinstance(value, float) and math.isfinite(value)


def _rule(value: Any) -> str:
    return "characters" if isinstance(value, str) else "number" if isinstance(value, int | float) else "json"


def _segment(name: object) -> str:
    """Of a JSON Pointer; what cannot be sent has a question mark."""
    return str(name).encode("utf-8", "replace").decode().replace("~", "~0").replace("/", "~1")
