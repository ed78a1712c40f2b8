"""The types that a closed schema takes, and what becomes of it with null and without."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.importing.references import listed

Json = dict[str, Any]


def with_null(closed: Json) -> Json:
    """The schema, and null as well."""
    if isinstance(closed.get("type"), str) and "enum" not in closed:
        return closed if closed["type"] == "null" else {**closed, "type": [closed["type"], "null"]}
    if isinstance(closed.get("type"), list):
        return closed if "null" in closed["type"] else {**closed, "type": [*closed["type"], "null"]}
    if "anyOf" in closed:
        has_null = {"type": "null"} in closed["anyOf"]
        return closed if has_null else {**closed, "anyOf": [*closed["anyOf"], {"type": "null"}]}
    return {"anyOf": [closed, {"type": "null"}]}


def text_kinds(schema: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """The types that a closed schema takes, and those of a list's items; `object` for whatever is not told."""
    kinds: set[str] = set()
    items: set[str] = set()
    for branch in _branches(schema):
        named = branch.get("type", "object")
        kinds |= {named} if isinstance(named, str) else {*named}
        if isinstance(branch.get("items"), Mapping):
            items |= text_kinds(branch["items"])[0]
    return frozenset(kinds), frozenset(items)


def _branches(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "anyOf" not in schema:
        yield schema
    for branch in listed(schema.get("anyOf")):
        yield from _branches(branch)


def without_null(schema: Json) -> Json:
    """The schema without null, which a text cannot be: an argument that is not given is left out."""
    if isinstance(schema.get("type"), list):
        kinds = [kind for kind in schema["type"] if kind != "null"]
        schema = {**schema, "type": kinds[0] if len(kinds) == 1 else kinds}
    if "enum" in schema:
        schema = {**schema, "enum": [value for value in schema["enum"] if value is not None]}
    if "anyOf" in schema:
        branches = [without_null(one) for one in schema["anyOf"] if one != {"type": "null"}]
        rest = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**branches[0], **rest} if len(branches) == 1 else {**rest, "anyOf": branches}
    return schema
