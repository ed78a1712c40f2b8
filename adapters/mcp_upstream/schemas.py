"""What keeps an upstream's schema from becoming a row's: that it is none, or that it points outside of itself.

Nothing is ever fetched that a schema names: not here, and not by whatever judges arguments by the row's own schema.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from adapters.mcp_upstream.characters import unseen_in_lines

MAX_BYTES = 64 * 1024
MAX_LEVELS = 64
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_IDENTITIES = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary")
_VALUES = frozenset({"const", "default", "enum", "example", "examples"})
"""What stands in them is no schema."""
_NAMES = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"})
"""What stands in them is by names, which are no keywords."""
_DIALECT = re.compile(r"https?://json-schema\.org/(draft-0[3-7]|draft/20(19-09|20-12))/schema#?")

Node = tuple[int, Any]
"""Something in a schema, and how deep."""


def schema_problems(schema: object, what: str) -> Iterator[str]:
    """A sentence for each thing wrong with a schema; `what` says which it is, e.g. `the input schema`."""
    if not isinstance(schema, Mapping):
        yield f"{what} is no object"
        return
    if schema.get("type") != "object":
        yield f"{what} does not describe an object"
    size = _size(schema)
    if not 0 <= size <= MAX_BYTES:
        yield f"{what} is larger or deeper than can be taken ({MAX_BYTES} bytes, {MAX_LEVELS} levels)"
        return
    yield from dict.fromkeys(f"{what} {problem}" for problem in _pointing(schema))
    if any(unseen_in_lines(text) for text in _texts(schema)):
        yield f"{what} holds characters that nobody sees"


def _size(schema: Mapping[str, Any]) -> int:
    """In bytes as JSON; -1 for what is too deep, or no JSON."""
    try:
        size = len(orjson.dumps(schema))
    except orjson.JSONEncodeError:
        return -1
    return size if max(level for level, _ in _everything(schema)) <= MAX_LEVELS else -1


def _pointing(schema: Mapping[str, Any]) -> Iterator[str]:
    """What of it names something outside of it, or gives it a name by which others would."""
    dialect = schema.get("$schema")
    if dialect is not None and not (isinstance(dialect, str) and _DIALECT.fullmatch(dialect)):
        yield "is in a dialect that is not known ($schema)"
    for node in _subschemas(schema):
        for key in _REFERENCES:
            if key in node and not _is_local(node[key]):
                yield f"refers to something outside of itself ({key}), which is never fetched"
        for key in _IDENTITIES:
            if isinstance(node.get(key), str | bool) or (key == "$vocabulary" and key in node):
                yield f"gives itself a name to be referred to by ({key})"


def _is_local(reference: object) -> bool:
    return isinstance(reference, str) and (reference == "#" or reference.startswith("#/"))


def _subschemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every object in it that may be read as a schema, under whatever keyword, the ones that nobody knows included."""
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, Mapping):
            yield one
            for key, value in one.items():
                if key in _NAMES and isinstance(value, Mapping):
                    waiting += value.values()
                elif key not in _VALUES:
                    waiting.append(value)


def _everything(schema: Mapping[str, Any]) -> Iterator[Node]:
    waiting: list[Node] = [(1, schema)]
    while waiting:
        level, one = waiting.pop()
        yield level, one
        if isinstance(one, Mapping):
            waiting += [(level + 1, value) for value in one.values()]
        elif isinstance(one, list):
            waiting += [(level + 1, value) for value in one]


def _texts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every text in it, names of properties included."""
    for _, one in _everything(schema):
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            yield from one
