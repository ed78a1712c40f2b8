"""The parts of an `allOf` as one schema, before any of it is closed: closed alone, each would refuse the others."""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.importing.reasons import Inexpressible
from gateway.importing.references import MAX_CHAIN, References, listed, mapping, texts

Json = dict[str, Any]
_CHOICES = ("oneOf", "anyOf")


def merged(references: References, node: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """The node without `allOf`, and without the references that it is composed of.

    Raises `Inexpressible` for parts that contradict one another, or that are composed without end.
    """
    references.spend()
    if "allOf" not in node:
        return node
    if depth > MAX_CHAIN:
        raise Inexpressible("is composed of itself")
    found: Json = {name: value for name, value in node.items() if name != "allOf"}
    for part in listed(node["allOf"]):
        found = both(references, found, merged(references, references.follow(part), depth + 1))
    return found


def both(references: References, one: Mapping[str, Any], other: Mapping[str, Any]) -> Json:
    """What keeps to both schemas. Words about it are the first's."""
    references.spend(len(one) + len(other))
    if (set(_CHOICES) & one.keys()) and (set(_CHOICES) & other.keys()):
        raise Inexpressible("combines several choices")
    found = dict(one)
    for name, value in other.items():
        if name not in found or name not in _RULES:
            found.setdefault(name, value)
        elif found[name] != value:
            found[name] = _RULES[name](found[name], value)
    return found


def _properties(one: Any, other: Any) -> Json:
    found = dict(mapping(one))
    for name, part in mapping(other).items():
        found[name] = part if name not in found or found[name] == part else {"allOf": [found[name], part]}
    return found


def _required(one: Any, other: Any) -> list[str]:
    return list(dict.fromkeys([*texts(one), *texts(other)]))


def _types(one: Any, other: Any) -> list[str]:
    left, right = (texts(value if isinstance(value, list) else [value]) for value in (one, other))
    found = [name for name in left if name in right]
    if not found and "number" in (*left, *right) and "integer" in (*left, *right):
        found = ["integer"]
    if not found:
        raise Inexpressible("has parts of different types")
    return found


def _values(one: Any, other: Any) -> list[Any]:
    allowed = listed(other)
    found = [value for value in listed(one)[:1000] if value in allowed[:1000]]
    if not found:
        raise Inexpressible("has parts that share no value")
    return found


def _number(one: Any, other: Any, choose: Callable[[float, float], float]) -> Any:
    return choose(one, other) if isinstance(one, int | float) and isinstance(other, int | float) else one


def _least(one: Any, other: Any) -> Any:
    return _number(one, other, min)


def _most(one: Any, other: Any) -> Any:
    return _number(one, other, max)


def _either(one: Any, other: Any) -> bool:
    return one is True or other is True


def _false(one: Any, other: Any) -> Any:
    return False if one is False or other is False else one


_RULES: Mapping[str, Callable[[Any, Any], Any]] = {
    "properties": _properties,
    "required": _required,
    "type": _types,
    "enum": _values,
    "nullable": _either,
    "additionalProperties": _false,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _most),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _least),
}
