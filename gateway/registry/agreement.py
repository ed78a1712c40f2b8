"""A tool's input schema and the TypedDict of its operation must agree, so that they cannot drift apart.

The rule: **whatever the schema lets in is a value of the type.** A schema may be narrower (leave out what
the type does not require, require what the type does not, take fewer values), never wider.
"""

import types as python_types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from gateway.documents import Location
from gateway.registry.schemas import MAX_DEPTH, Finding, follow, types

RULE = "argument_type"
_JSON_TYPES: dict[Any, frozenset[str]] = {
    str: frozenset({"string"}),
    int: frozenset({"integer"}),
    float: frozenset({"number", "integer"}),
    bool: frozenset({"boolean"}),
    type(None): frozenset({"null"}),
    None: frozenset({"null"}),
}


def disagreements(schema: Mapping[str, Any], arguments: type) -> Iterator[Finding]:
    """Where the schema lets in what the operation's argument type does not take."""
    yield from _Comparison(schema).compare(schema, arguments, ())


class _Comparison:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def compare(self, node: Any, kind: Any, at: Location) -> Iterator[Finding]:
        """Findings for one value. Stops at a depth that no type written by hand reaches."""
        kind = _bare(kind)
        node = follow(self._root, node)
        if kind is Any or node is False or len(at) > MAX_DEPTH:
            return
        # 1. Named values. 2. A type of its own, which any branches only narrow. 3. Branches alone.
        if values := _values(node):
            yield from self._compare_values(values, kind, at)
        elif types(node) or not (branches := _choices(node)):
            yield from self._compare_types(node, kind, at)
        else:
            for key, index, branch in branches:
                yield from self.compare(branch, kind, (*at, key, index))

    def _compare_values(self, values: list[Any], kind: Any, at: Location) -> Iterator[Finding]:
        wrong = [value for value in values if not any(_is_of(value, option) for option in _options(kind))]
        if wrong:
            yield _finding(at, f"the schema lets in {wrong!r}, which the operation does not take")

    def _compare_types(self, node: Any, kind: Any, at: Location) -> Iterator[Finding]:
        options = _options(kind)
        named = types(node)
        if not named:
            yield _finding(at, "the schema does not say a type, and the operation takes only some")
        for name in sorted(named):
            fitting = [option for option in options if name in _json_types(option)]
            if not fitting:
                yield _finding(at, f"the schema lets in {_with_article(name)}, which the operation does not take")
            elif name == "object":
                yield from self._compare_objects(node, fitting[0], at)
            elif name == "array":
                yield from self._compare_items(node, fitting[0], at)

    def _compare_items(self, node: Mapping[str, Any], kind: Any, at: Location) -> Iterator[Finding]:
        inner = get_args(kind)
        if inner:
            yield from self.compare(node.get("items", {}), inner[0], (*at, "items"))

    def _compare_objects(self, node: Mapping[str, Any], kind: Any, at: Location) -> Iterator[Finding]:
        properties = node.get("properties", {})
        if not is_typeddict(kind):
            values = get_args(kind)
            for name, part in properties.items() if len(values) == 2 else ():
                yield from self.compare(part, values[1], (*at, "properties", name))
            return
        hints = get_type_hints(kind)
        for name, part in properties.items():
            if name in hints:
                yield from self.compare(part, hints[name], (*at, "properties", name))
            else:
                yield _finding((*at, "properties", name), f"the operation has no argument `{name}`")
        yield from self._compare_required(node, kind, at)

    def _compare_required(self, node: Mapping[str, Any], kind: Any, at: Location) -> Iterator[Finding]:
        properties = node.get("properties", {})
        for name in sorted(kind.__required_keys__):
            if name not in properties:
                yield _finding(at, f"the operation needs `{name}`, which the schema lacks")
            elif name not in node.get("required", ()) and not (at == () and "default" in properties[name]):
                where: Location = (*at, "properties", name)
                yield _finding(where, f"the operation needs `{name}`: require it, or give it a default")


def _finding(at: Location, message: str) -> Finding:
    return Finding(at=at, rule=RULE, message=message)


def _bare(kind: Any) -> Any:
    """The type inside of Required, NotRequired, ReadOnly and Annotated."""
    while get_origin(kind) in {typing.Required, typing.NotRequired, typing.Annotated}:
        kind = get_args(kind)[0]
    return kind


def _options(kind: Any) -> list[Any]:
    """The members of a union, else the type alone."""
    if get_origin(kind) in {typing.Union, python_types.UnionType}:
        return [option for part in get_args(kind) for option in _options(_bare(part))]
    return [kind]


def _choices(node: Any) -> list[tuple[str, int, Any]]:
    if not isinstance(node, Mapping):
        return []
    return [(key, index, part) for key in ("anyOf", "oneOf") for index, part in enumerate(node.get(key, ()))]


def _values(node: Any) -> list[Any]:
    if not isinstance(node, Mapping):
        return []
    return [node["const"]] if "const" in node else list(node.get("enum", ()))


def _json_types(kind: Any) -> frozenset[str]:
    """The JSON types of whole types; a Literal takes values, never a whole type."""
    if is_typeddict(kind) or get_origin(kind) is dict or kind is dict:
        return frozenset({"object"})
    if get_origin(kind) is list or kind is list:
        return frozenset({"array"})
    return _JSON_TYPES.get(kind, frozenset())


def _is_of(value: Any, kind: Any) -> bool:
    """Whether one value that a schema names is of the type."""
    if kind is Any:
        return True
    if get_origin(kind) is Literal:
        return any(type(value) is type(option) and value == option for option in get_args(kind))
    return _type_name(value) in _json_types(kind)


def _type_name(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    return names.get(type(value), "null")


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "aio" else name if name == "null" else f"a {name}"
