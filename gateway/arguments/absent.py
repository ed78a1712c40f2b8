"""What an agent left out: nulls that mean absent, and defaults of what is absent.

A model in strict mode sends every key, and null for what it does not want to say. Which nulls those are
is worked out once, when the schema is compiled.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

Pointer = str
TakesNull = Callable[[Pointer], bool]
"""Whether the subschema at a JSON Pointer (`#/properties/a`) takes null; asked only in doubt."""


class Shape:
    """Where in one object nulls mean absent. Shapes of a recursive schema form a ring."""

    __slots__ = ("inside", "items", "optional")

    def __init__(self) -> None:
        self.optional: frozenset[str] = frozenset()
        """Properties that are not required and take no null."""
        self.inside: dict[str, Shape] = {}
        """The shapes of properties that hold objects, or lists of them."""
        self.items: Shape | None = None
        """The shape of each item, when this is a list's shape."""

    def drop_nulls(self, value: Any) -> None:
        """Take the nulls that mean absent out of `value`, in place."""
        if isinstance(value, list):
            if self.items is not None:
                for item in value:
                    self.items.drop_nulls(item)
        elif isinstance(value, dict):
            for key in [key for key, item in value.items() if item is None and key in self.optional]:
                del value[key]
            for key, shape in self.inside.items():
                if key in value:
                    shape.drop_nulls(value[key])


def shape_of(schema: Mapping[str, Any], takes_null: TakesNull) -> Shape:
    """The shape of what `schema` describes."""
    return _Shapes(schema, takes_null).at("#", schema)


def defaults_of(schema: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The properties of the outermost object that have a default, with it."""
    return tuple(
        (name, part["default"])
        for name, part in _mapping(schema.get("properties")).items()
        if isinstance(part, Mapping) and "default" in part
    )


def add_defaults(value: dict[str, Any], defaults: tuple[tuple[str, Any], ...]) -> None:
    """Put the default of every absent property into `value`, in place."""
    for name, default in defaults:
        if name not in value:
            value[name] = copy.deepcopy(default)


class _Shapes:
    """Builds each shape once by its pointer, so that a recursive schema ends."""

    def __init__(self, root: Mapping[str, Any], takes_null: TakesNull) -> None:
        self._root = root
        self._takes_null = takes_null
        self._known: dict[Pointer, Shape] = {}

    def at(self, pointer: Pointer, schema: Any) -> Shape:
        pointer, schema = self._follow(pointer, schema)
        if pointer in self._known:
            return self._known[pointer]
        shape = self._known[pointer] = Shape()
        required = schema.get("required", ())
        properties = _mapping(schema.get("properties"))
        for name, part in properties.items():
            where = f"{pointer}/properties/{_segment(name)}"
            if name not in required and not self._part_takes_null(where, part):
                shape.optional |= {name}
            if isinstance(part, Mapping) and part.keys() & {"properties", "items", "$ref"}:
                shape.inside[name] = self.at(where, part)
        if isinstance(schema.get("items"), Mapping):
            shape.items = self.at(f"{pointer}/items", schema["items"])
        return shape

    def _follow(self, pointer: Pointer, schema: Any) -> tuple[Pointer, Mapping[str, Any]]:
        """The end of a chain of local `$ref`s."""
        seen = {pointer}
        while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
            pointer = schema["$ref"]
            if pointer in seen:
                break
            seen.add(pointer)
            schema = resolve(self._root, pointer)
        return pointer, schema if isinstance(schema, Mapping) else {}

    def _part_takes_null(self, pointer: Pointer, part: Any) -> bool:
        # 1. The type alone says no. 2. A type that names null: leave it to the schema. 3. Ask.
        if isinstance(part, Mapping) and "type" in part:
            types = part["type"] if isinstance(part["type"], list) else [part["type"]]
            return "null" in types
        return self._takes_null(pointer)


def resolve(root: Any, pointer: Pointer) -> Any:
    """What a local reference (`#` or `#/a/b`) points at; None when there is no such thing."""
    if pointer == "#":
        return root
    node = root
    for segment in pointer.removeprefix("#/").split("/"):
        key = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node


def _segment(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
