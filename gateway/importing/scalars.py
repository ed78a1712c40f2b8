"""What a description says of one value: its types, its values and its bounds, as JSON Schema 2020-12 has them."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gateway.importing.references import listed, texts

Json = dict[str, Any]


class Checks(Protocol):
    """A compiled schema."""

    def is_valid(self, value: Any) -> bool:
        """Whether a value keeps to it."""
        ...


CompileSchema = Callable[[Mapping[str, Any]], Checks]
"""`gateway.arguments.schema.compile_schema`, handed in. Raises `ValueError`."""

TYPES = ("string", "integer", "number", "boolean", "array", "object")
MAX_VALUES = 500
MAX_TEXT = 1000
MAX_NAMED = 20_000
"""Characters of all the values that one schema names."""
MAX_PATTERNS = 5_000
"""Patterns and formats in one document. Each is compiled, and some patterns take long for that."""
_MAX_SAFE = 2**53 - 1
_LENGTHS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_PYTHON = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_IMPLIED = (
    ("object", ("properties", "additionalProperties", "required")),
    ("array", ("items", "minItems", "maxItems")),
    ("string", ("pattern", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "multipleOf")),
)


def types_of(node: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The JSON types that a schema takes, as it says or as its keywords imply, and whether null is taken as well."""
    named = node.get("type")
    every = texts(named if isinstance(named, list) else [named])
    found = list(dict.fromkeys(name for name in every if name in TYPES))
    takes_null = node.get("nullable") is True or "null" in every
    if not every:
        values = [_PYTHON[type(value)] for value in values_of(node)]
        found = list(dict.fromkeys(name for name in values if name != "null"))
        takes_null = takes_null or "null" in values
    if not found and not every:
        found = [name for name, words in _IMPLIED if not node.keys().isdisjoint(words)][:1]
    return found, takes_null


def values_of(node: Mapping[str, Any]) -> list[Any]:
    """The values that a schema names, each once, when all of them are plain ones of reasonable size."""
    named = [node["const"]] if "const" in node else listed(node.get("enum"))
    if not named or len(named) > MAX_VALUES or not all(is_plain(value) for value in named):
        return []
    if sum(len(value) for value in named if isinstance(value, str)) > MAX_NAMED:
        return []
    return list({(type(value), value): value for value in named}.values())


def is_plain(value: Any) -> bool:
    """Whether it is a text, a number, a truth or null that every reader of JSON reads alike."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    if isinstance(value, int | float) and not isinstance(value, bool):
        return is_safe(value)
    return value is None or isinstance(value, bool)


def is_safe(value: Any) -> bool:
    """Whether it is a number that no reader of JSON takes for another."""
    return type(value) in (int, float) and math.isfinite(value) and abs(value) <= _MAX_SAFE


def fits(value: Any, kinds: list[str], *, takes_null: bool) -> bool:
    """Whether a plain value is of one of these types."""
    kind = _PYTHON.get(type(value), "")
    return kind in kinds or (kind == "integer" and "number" in kinds) or (value is None and takes_null)


class Bounds:
    """Bounds, patterns and formats, as far as the gateway's own checker takes them."""

    def __init__(self, compile_schema: CompileSchema) -> None:
        self._compile_schema = compile_schema
        self._known: dict[tuple[str, str], bool] = {}
        self._used = 0

    def of(self, node: Mapping[str, Any], kind: str) -> Json:
        """What the schema says of values of this type."""
        found: Json = {}
        if kind in _LENGTHS:
            found |= {word: node[word] for word in _LENGTHS[kind] if _is_length(node.get(word))}
            if found.get(_LENGTHS[kind][0], 0) > found.get(_LENGTHS[kind][1], math.inf):
                found = {}
        if kind == "string":
            found |= {word: node[word] for word in ("pattern", "format") if self._is_taken(word, node.get(word))}
        elif kind in ("integer", "number"):
            found |= _numbers(node)
        elif kind == "array" and node.get("uniqueItems") is True:
            found["uniqueItems"] = True
        return found

    def is_valid(self, schema: Mapping[str, Any], value: Any) -> bool:
        """Whether a value keeps to a schema, which refers to nothing. A pattern is not compiled once more for that."""
        if "pattern" in schema:
            return False
        try:
            return self._compile_schema(schema).is_valid(value)
        except ValueError:
            return False

    def _is_taken(self, word: str, value: Any) -> bool:
        """A pattern that needs more than linear time is not, nor is a format that nobody here knows."""
        if not isinstance(value, str) or len(value) > MAX_TEXT or self._used >= MAX_PATTERNS:
            return False
        self._used += 1
        if (word, value) not in self._known:
            try:
                self._compile_schema({"type": "string", word: value})
                self._known[word, value] = True
            except ValueError:
                self._known[word, value] = False
        return self._known[word, value]


def _is_length(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MAX_SAFE


def _numbers(node: Mapping[str, Any]) -> Json:
    """Bounds of a number. In OpenAPI 3.0 an exclusive one is a truth beside the bound."""
    found: Json = {}
    for word, strict in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if is_safe(node.get(strict)):
            found[strict] = node[strict]
        if is_safe(node.get(word)):
            found[strict if node.get(strict) is True else word] = node[word]
    if is_safe(node.get("multipleOf")) and node["multipleOf"] > 0:
        found["multipleOf"] = node["multipleOf"]
    return found
