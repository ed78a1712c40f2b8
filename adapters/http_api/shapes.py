"""What a tool's input schema says of its arguments, as far as a request can be held against it before any call.

A guard for whoever writes rows, and not for calls: what an argument is in truth is looked at when it is filled in.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from adapters.http_api.pointers import ABSENT, Tokens, find, index_of, split

SCALARS = frozenset({"string", "integer", "number", "boolean"})
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", dict: "object"}
_MAX_BRANCHES = 200

Types = frozenset[str]
Schemas = list[Mapping[str, Any]]


class Shapes:
    """The arguments of one tool."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._root = self._branches([schema])

    def at(self, tokens: Tokens) -> Schemas:
        """Every schema that speaks of what this pointer leads to; empty when none does."""
        found = self._root
        for token in tokens:
            found = self.below(found, token)
        return found

    def below(self, schemas: Schemas, token: str) -> Schemas:
        """Every schema that speaks of what one more token leads to."""
        return self._branches(_under(schemas, token))

    def names(self, schemas: Schemas) -> set[str]:
        """The properties that these schemas let an object have by name."""
        properties = [one for schema in schemas if isinstance(one := schema.get("properties"), Mapping)]
        return {name for one in properties for name, schema in one.items() if schema is not False}

    def types(self, schemas: Schemas) -> Types:
        """The JSON types that these schemas speak of; empty when they say nothing of them."""
        return frozenset(name for schema in schemas for name in _types_of(schema))

    def items(self, schemas: Schemas) -> Schemas:
        """The schemas of a list's items."""
        return self._branches(items for schema in schemas if isinstance(items := schema.get("items"), Mapping))

    def is_always_there(self, name: str) -> bool:
        """Whether every call has this argument: it is required, or has a default."""
        required = any(name in _listed(schema, "required") for schema in self._of_all())
        return required or any("default" in schema for schema in self.at((name,)))

    def _of_all(self) -> Schemas:
        """The schemas that hold for every call."""
        return [self._schema, *(one for one in _listed(self._schema, "allOf") if isinstance(one, Mapping))]

    def _branches(self, schemas: Iterable[Any]) -> Schemas:
        """The schemas, and whatever they refer to or are composed of, each once."""
        found: dict[int, Mapping[str, Any]] = {}
        waiting = list(schemas)
        while waiting and len(found) < _MAX_BRANCHES:
            schema = waiting.pop()
            if isinstance(schema, Mapping) and id(schema) not in found:
                found[id(schema)] = schema
                waiting += [one for name in ("anyOf", "oneOf", "allOf") for one in _listed(schema, name)]
                waiting.append(self._referred(schema.get("$ref")))
        return list(found.values())

    def _referred(self, reference: object) -> object:
        """What a reference inside the schema leads to. No other is ever followed."""
        tokens = split(reference[1:]) if isinstance(reference, str) and reference.startswith("#") else None
        value = ABSENT if tokens is None else find(self._schema, tokens)
        return None if value is ABSENT else value


def _under(schemas: Schemas, token: str) -> Iterator[Any]:
    for schema in schemas:
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and token in properties:
            yield {} if properties[token] is True else properties[token]
        index = index_of(token)
        if index is not None:
            prefix = _listed(schema, "prefixItems")
            yield prefix[index] if index < len(prefix) else schema.get("items")


def _types_of(schema: Mapping[str, Any]) -> Iterator[str]:
    named = schema.get("type")
    yield from (named,) if isinstance(named, str) else (one for one in _listed(schema, "type") if isinstance(one, str))
    values = [*_listed(schema, "enum"), *([schema["const"]] if "const" in schema else ())]
    if named is None:
        yield from (_TYPES.get(type(value), "array") for value in values)


def _listed(schema: Mapping[str, Any], name: str) -> list[Any]:
    value = schema.get(name)
    return list(value) if isinstance(value, list | tuple) else []
