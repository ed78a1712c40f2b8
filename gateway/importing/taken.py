"""What has been made of one operation's arguments so far."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.importing.reasons import Skipped

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Taken:
    """The arguments, and where in the request each goes."""

    properties: Json = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    options: Json = field(default_factory=dict)
    """Of the binding, but for the answer."""

    def add(self, name: str, schema: Json, *, is_required: bool) -> None:
        """One more argument."""
        self.properties[name] = schema
        if is_required:
            self.required.append(name)

    def schema(self, defs: Json) -> Json:
        """The input schema, with those of the definitions that it needs."""
        defs = _needed(self.properties, defs)
        found: Json = {"type": "object", "properties": self.properties}
        if self.required:
            found["required"] = self.required
        return {**found, "additionalProperties": False, **({"$defs": defs} if defs else {})}


def _needed(value: Any, defs: Json) -> Json:
    """Those of the definitions that the value leads to. Raises `Skipped` for one that is only itself again."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        for name in {*_referred(waiting.pop())} - found:
            found.add(name)
            waiting.append(defs[name])
    _check_founded({name: set(_same(defs[name])) for name in found})
    return {name: part for name, part in defs.items() if name in found}


def _check_founded(same: Mapping[str, set[str]]) -> None:
    """Nothing when no definition is nothing but itself again: such a one lets everything through. Raises `Skipped`."""
    settled: set[str] = set()
    while ready := {name for name, others in same.items() if name not in settled and others <= settled}:
        settled |= ready
    if len(settled) < len(same):
        raise Skipped("it has a schema that is composed of itself")


def _referred(value: Any) -> Iterator[str]:
    """The names of all definitions that a value refers to."""
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for part in value.values():
            yield from _referred(part)
    elif isinstance(value, list):
        for part in value:
            yield from _referred(part)


def _same(schema: Mapping[str, Any]) -> Iterator[str]:
    """The definitions that judge the same value as the schema does, and no part of it."""
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2]
    for branch in schema.get("anyOf", ()):
        yield from _same(branch)
