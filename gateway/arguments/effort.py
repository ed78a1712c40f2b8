"""How much work it can be to say everything that is wrong with a value.

Whether a value fits is known quickly. All its errors are another matter: each carries what the schema wanted,
and a schema that refers to itself out of several branches has twice as many for every level of the value.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from gateway.arguments.absent import resolve

_PER_SUBSCHEMA = 100
_PER_OPTION = 1
"""In tenths of a microsecond: an error costs about ten, and 0.1 for each value of an `enum` that it lists."""

_HERE = ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords whose subschemas judge the same value once more."""
_BELOW = (
    *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
    *("items", "prefixItems", "contains", "unevaluatedItems"),
)
"""Keywords whose subschemas judge what the value holds."""
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})


class Effort:
    """The most work that one part of a value can be, by how deep the value is."""

    __slots__ = ("_known", "_root", "_under")

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}
        self._under: set[tuple[int, int]] = set()

    def per_part(self, depth: int) -> int:
        """A bound, in tenths of a microsecond. It can be an astronomical number."""
        try:
            return self._of(self._root, depth)
        except RecursionError:  # a chain of references longer than anybody writes by hand
            self._under.clear()
            return sys.maxsize

    def _of(self, node: Any, depth: int) -> int:
        key = id(node), depth
        if not isinstance(node, Mapping) or depth < 0 or key in self._under:
            return 0
        if key not in self._known:
            self._under.add(key)
            here = sum(self._of(part, depth) for part in self._here(node))
            below = sum(self._of(part, depth - 1) for word in _BELOW for part in _parts(node, word))
            self._known[key] = _PER_SUBSCHEMA + _PER_OPTION * _options(node) + here + below
            self._under.discard(key)
        return self._known[key]

    def _here(self, node: Mapping[str, Any]) -> Iterator[Any]:
        for word in _HERE:
            yield from _parts(node, word)
        for word in ("$ref", "$dynamicRef"):
            if isinstance(node.get(word), str):
                yield resolve(self._root, node[word])


def size_and_depth(value: Any) -> tuple[int, int]:
    """How many parts a JSON value has, itself included, and how many levels lie below it."""
    parts, depth, level = 0, -1, [value]
    while level:
        parts += len(level)
        depth += 1
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = below
    return parts, depth


def _parts(node: Mapping[str, Any], word: str) -> Iterator[Any]:
    """The subschemas behind a keyword: a list of them, a mapping by name, or one."""
    inner = node.get(word)
    if isinstance(inner, list):
        yield from inner
    elif isinstance(inner, Mapping) and word in _BY_NAME:
        yield from inner.values()
    elif inner is not None:
        yield inner


def _options(node: Mapping[str, Any]) -> int:
    options = node.get("enum")
    return len(options) if isinstance(options, list) else 0
