"""What a tool's JSON Schemas may look like, beyond compiling: closed, local, and fit for a model.

`local` takes anything at all, since it runs before a schema is compiled; everything else here takes
schemas that compile.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.documents import Location

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODE_NAMES = frozenset({"action", "command", "function", "method", "mode", "op", "operation", "subcommand", "verb"})

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_IDENTITIES = ("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_SAYS_WHAT = frozenset({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"})
_NOT_STRICT = ("anyOf", "oneOf", "allOf", "not", "if", "enum", "const", "patternProperties")
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong with a schema, at a place in it."""

    at: Location
    rule: str
    message: str
    is_warning: bool = False


def nodes(schema: Any, at: Location = ()) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    """Every subschema that is a mapping, with its place; the root first."""
    if not isinstance(schema, Mapping) or len(at) > 2 * MAX_DEPTH:
        return
    yield at, schema
    for key in _MAPS:
        inner = schema.get(key)
        for name, part in inner.items() if isinstance(inner, Mapping) else ():
            yield from nodes(part, (*at, key, name))
    for key in _LISTS:
        inner = schema.get(key)
        for index, part in enumerate(inner) if isinstance(inner, list) else ():
            yield from nodes(part, (*at, key, index))
    for key in _SINGLE:
        yield from nodes(schema.get(key), (*at, key))


def closed(schema: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings where an input schema lets in something that it does not describe."""
    if schema.get("type") != "object":
        yield Finding(at=("type",), rule="root_object", message="the input schema's root must have the type object")
    for at, node in nodes(schema):
        kinds = types(node)
        if ("object" in kinds or "properties" in node) and node.get("additionalProperties") is not False:
            yield Finding(at=at, rule="closed", message="every object needs additionalProperties: false")
        if "array" in kinds and "items" not in node:
            yield Finding(at=at, rule="items", message="a list must say what its items are")
        if not _SAYS_WHAT & node.keys() and _is_value(at):
            yield Finding(at=at, rule="typed", message="say the type: this takes any value")


def _is_value(at: Location) -> bool:
    """Whether a node describes a value of its own, and does not merely narrow one."""
    if not at:
        return False
    return at[-1] == "items" or (len(at) > 1 and at[-2] == "properties" and not {"if", "then", "else", "not"} & {*at})


def local(schema: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings where a schema points outside of itself. What points nowhere else needs no network."""
    if schema.get("$schema", DIALECT) != DIALECT:
        yield Finding(at=("$schema",), rule="dialect", message=f"the only dialect is {DIALECT}")
    for at, node in nodes(schema):
        for key in _REFERENCES:
            target = node.get(key)
            if target is not None and not (isinstance(target, str) and (target == "#" or target.startswith("#/"))):
                yield Finding(at=(*at, key), rule="remote_ref", message=f"{key} may only be local: #/…")
        for key in _IDENTITIES:
            if key in node:
                yield Finding(at=(*at, key), rule="remote_ref", message=f"{key} is not allowed; refer by #/…")


def founded(schema: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings where a schema is nothing but itself again, on the very same value: a validator would ask for ever, or
    let everything through.
    """
    same = {at: {*_same(at, node)} for at, node in nodes(schema)}
    settled: set[Location] = set()
    while ready := {
        at for at, others in same.items() if at not in settled and others <= settled | (others - same.keys())
    }:
        settled |= ready
    for at in same:
        if at not in settled:
            yield Finding(at=at, rule="founded", message="is composed of itself, so that it says nothing of a value")
            return


def _same(at: Location, node: Mapping[str, Any]) -> Iterator[Location]:
    """Where the subschemas are that judge the same value as the node, and no part of it."""
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        yield tuple(_segment(part) for part in reference.split("/")[1:])
    for key in _LISTS:
        if key != "prefixItems":
            parts = node.get(key)
            yield from ((*at, key, index) for index in range(len(parts) if isinstance(parts, list) else 0))
    yield from ((*at, key) for key in ("not", "if", "then", "else") if key in node)
    yield from ((*at, "dependentSchemas", name) for name in _mapping(node.get("dependentSchemas")))


def _segment(part: str) -> str | int:
    return int(part) if part.isdecimal() else unescape(part)


def modes(schema: Mapping[str, Any]) -> Iterator[Finding]:
    """Warnings for parameters that choose what a tool does: a tool with a mode flag is two tools."""
    for name, part in _mapping(schema.get("properties")).items():
        chooses = isinstance(part, Mapping) and ("enum" in part or "boolean" in types(part))
        if chooses and name.lower() in MODE_NAMES:
            message = f"`{name}` looks like a mode flag; one tool has one capability, so make it two tools"
            yield Finding(at=("properties", name), rule="mode_flag", message=message, is_warning=True)


def strict(schema: Mapping[str, Any]) -> Iterator[Finding]:
    """Warnings for what function calling in strict mode does not take."""
    for key in _NOT_STRICT:
        if key in schema:
            message = f"models in strict mode do not take {key} at the root"
            yield Finding(at=(key,), rule="strict_mode", message=message, is_warning=True)
    for at, node in nodes(schema):
        if at and "oneOf" in node:
            message = "models in strict mode do not take oneOf; use anyOf"
            yield Finding(at=(*at, "oneOf"), rule="strict_mode", message=message, is_warning=True)


def parameters(schema: Mapping[str, Any]) -> set[str]:
    """The names of all properties, at any depth."""
    return {name for _, node in nodes(schema) for name in _mapping(node.get("properties"))}


def literals(schema: Mapping[str, Any]) -> set[str]:
    """The strings that a schema names as values."""
    found: set[str] = set()
    for _, node in nodes(schema):
        options = node.get("enum", [])
        values = [*(options if isinstance(options, list) else []), node.get("const"), node.get("default")]
        found.update(value for value in values if isinstance(value, str))
    return found


def types(node: Any) -> frozenset[str]:
    """The JSON types that a node names."""
    named = node.get("type") if isinstance(node, Mapping) else None
    return frozenset([named] if isinstance(named, str) else named or ())


def follow(root: Mapping[str, Any], node: Any) -> Any:
    """The node, or what its chain of local references ends in; None for a ring or a dead end."""
    for _ in range(MAX_DEPTH):
        if not isinstance(node, Mapping) or not isinstance(node.get("$ref"), str):
            return node
        node = _look_up(root, node["$ref"])
    return None


def _look_up(root: Mapping[str, Any], reference: str) -> Any:
    node: Any = root
    for segment in reference.split("/")[1:]:
        key = unescape(segment)
        if isinstance(node, list):
            node = node[int(key)] if key.isdecimal() and int(key) < len(node) else None
        else:
            node = node.get(key) if isinstance(node, Mapping) else None
    return node


def has_pointer(root: Mapping[str, Any], pointer: str) -> bool:
    """Whether a JSON Pointer, with `*` for every item or property, leads to something described."""
    found = [follow(root, root)]
    for segment in pointer.split("/")[1:]:
        found = [below for node in found for below in _below(root, node, unescape(segment))]
    return bool(found)


def _below(root: Mapping[str, Any], node: Any, segment: str) -> Iterator[Any]:
    """The subschemas of a value's part, through every branch that describes the value."""
    for branch in branches(root, node):
        properties = _mapping(branch.get("properties"))
        if segment == "*":
            yield from properties.values()
            yield from (part for part in (branch.get("additionalProperties"),) if isinstance(part, Mapping))
        elif segment in properties:
            yield properties[segment]
        if "items" in branch and (segment == "*" or segment.isdecimal()):
            yield branch["items"]


def branches(root: Mapping[str, Any], node: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The node itself, and what its anyOf, oneOf and allOf hold, references followed."""
    node = follow(root, node)
    if not isinstance(node, Mapping) or depth > 8:
        return
    yield node
    for key in ("anyOf", "oneOf", "allOf"):
        for part in node.get(key, ()):
            yield from branches(root, part, depth + 1)


def unescape(segment: str) -> str:
    """A segment of a JSON Pointer as the name it stands for."""
    return segment.replace("~1", "/").replace("~0", "~")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
