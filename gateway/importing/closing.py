"""Schemas of what goes in, closed: each says all that may be in a value, and nothing else is let through.

What cannot be said so is left out where it is optional, with a note; where it is required, so is what requires it.
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.importing.kinds import with_null
from gateway.importing.merging import both, merged
from gateway.importing.pasted import is_pasted, without_own_default
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References, listed, mapping, texts
from gateway.importing.scalars import Bounds, fits, is_plain, types_of, values_of
from gateway.importing.texts import plain_text

Json = dict[str, Any]

MAX_DEPTH = 12
MAX_NODES = 1_000
"""Subschemas in one operation's input."""
MAX_OPEN = 40
"""References that are followed one inside of the other."""
MAX_BRANCHES = 30
MAX_KEYS = 50
"""Keys of a map: more is not written by hand."""
MAX_NOTES = 50
_PER_RECURRENCE = 50
"""Steps: to check a schema takes the longer the more often it refers to itself."""
_ANY_KEY = "^.{1,128}$"
_WORDS = 300
_ABOUT = frozenset({"description", "summary", "title", "example", "examples", "deprecated", "default", "nullable"})
"""Keywords beside a reference or a choice that do not change what it takes, or are looked at by themselves."""


class Closing:
    """Closes the schemas of one operation. What recurs in itself ends in `defs`, by the name that it is referred by."""

    def __init__(self, references: References, bounds: Bounds) -> None:
        self.defs: Json = {}
        self.notes: list[str] = []
        self._references = references
        self._bounds = bounds
        self._nodes = 0
        self._open: list[str] = []
        self._recursive: dict[str, str] = {}
        """The names, in `defs`, of the references that lead back to themselves."""

    def close(self, node: Any, at: str, depth: int = 0) -> Json:
        """The schema, closed; `at` says in notes where it stands. Raises `Inexpressible`, or `Skipped` for too much."""
        self._spend(depth)
        if not isinstance(node, Mapping):
            raise Inexpressible("takes any value" if node is True else "takes no value")
        if "$ref" not in node:
            return self._described(node, self._closed(merged(self._references, node), at, depth))
        beside = {name: value for name, value in node.items() if name != "$ref"}
        if beside.keys() - _ABOUT - {"readOnly", "writeOnly"}:
            return self.close({**beside, "allOf": [{"$ref": node["$ref"]}, *listed(beside.get("allOf"))]}, at, depth)
        closed = self._described(beside, self._referred(node["$ref"], at, depth))
        return with_null(closed) if beside.get("nullable") is True else closed

    def _spend(self, depth: int) -> None:
        self._references.spend()
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Skipped(f"it takes more than {MAX_NODES} parts, and a model reads all of them")
        if depth > MAX_DEPTH or len(self._open) > MAX_OPEN:
            raise Inexpressible(f"is nested more than {MAX_DEPTH} levels deep")

    def note(self, at: str, reason: str) -> None:
        """Say that something was left out."""
        if len(self.notes) < MAX_NOTES:
            self.notes.append(f"{at} {reason}, and is left out")

    def _described(self, node: Mapping[str, Any], closed: Json) -> Json:
        """The closed schema with what the node says about it to a reader."""
        words = plain_text(node.get("description"), most=_WORDS)
        return {**closed, "description": words} if words else closed

    def _referred(self, reference: Any, at: str, depth: int) -> Json:
        target = self._references.target(reference)
        if reference in self._open or (reference in self._recursive and self._recursive[reference] in self.defs):
            self._references.spend(_PER_RECURRENCE)
            name = self._recursive.setdefault(reference, self._def_name(reference))
            return {"$ref": f"#/$defs/{name}"}
        known = len(self.defs)
        self._open.append(reference)
        try:
            closed = self.close(target, at, depth)
        except Inexpressible:
            for name in list(self.defs)[known:]:
                del self.defs[name]  # it may lead back to what there is not
            raise
        finally:
            self._open.pop()
        if reference not in self._recursive:
            return closed
        self.defs[self._recursive[reference]] = closed
        return {"$ref": f"#/$defs/{self._recursive[reference]}"}

    def _def_name(self, reference: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", reference.rpartition("/")[2])[:60] or "part"
        taken = set(self._recursive.values())
        return plain if plain not in taken else f"{plain}_{len(taken)}"

    def _closed(self, node: Mapping[str, Any], at: str, depth: int) -> Json:
        branches = listed(node.get("oneOf")) + listed(node.get("anyOf"))
        if any(not _only_narrows(branch) for branch in branches):
            return self._choice(node, branches, at, depth)
        kinds, takes_null = types_of(node)
        if "enum" in node or "const" in node:
            return _values(node, kinds, takes_null=takes_null)
        if len(kinds) > 1 and {"array", "object"} & {*kinds}:
            parts = [{**node, "type": kind, "nullable": False} for kind in kinds]
            found = self._branches(parts, at, depth)
        elif kinds:
            found = self._of_types(node, kinds, at, depth)
        else:
            raise Inexpressible("takes null alone" if takes_null else "takes any value")
        found = with_null(found) if takes_null else found
        return self._with_default(node, found)

    def _of_types(self, node: Mapping[str, Any], kinds: list[str], at: str, depth: int) -> Json:
        if kinds == ["object"]:
            return self._object(node, at, depth)
        if kinds == ["array"]:
            if "items" not in node or "prefixItems" in node:
                raise Inexpressible("is a list that does not say what its items are")
            items = self.close(node["items"], f"{at}/*", depth + 1)
            return {"type": "array", "items": items, **self._bounds.of(node, "array")}
        if "string" in kinds and node.get("format") == "binary":
            raise Inexpressible("takes a file")
        found: Json = {"type": kinds[0] if len(kinds) == 1 else kinds}
        for kind in kinds:
            found |= self._bounds.of(node, kind)
        return found

    def _object(self, node: Mapping[str, Any], at: str, depth: int) -> Json:
        if not mapping(node.get("properties")):
            return self._map(node, at, depth)
        required = {*texts(node.get("required"))}
        parts = self._properties(mapping(node["properties"]), required, at, depth)
        if not parts:
            raise Inexpressible("has no part that can be given")
        found: Json = {"type": "object", "properties": parts}
        if needed := [name for name in parts if name in required]:
            found["required"] = needed
        most = self._bounds.of(node, "object")
        return {**found, "additionalProperties": False, **{key: most[key] for key in most if key == "maxProperties"}}

    def _properties(self, properties: Mapping[str, Any], required: set[str], at: str, depth: int) -> Json:
        found: Json = {}
        for name, part in properties.items():
            here = f"{at}/{name}"[:200]
            try:
                _check_name(name)
                if not self._is_read_only(part):
                    found[name] = without_own_default(name, self.close(part, here, depth + 1))
            except Inexpressible as why:
                if name in required:
                    raise Inexpressible(f"needs {here}, which {why.reason}"[:300]) from why
                self.note(here, why.reason)
        return found

    def _is_read_only(self, part: Any) -> bool:
        return mapping(part).get("readOnly") is True or self._references.follow(part).get("readOnly") is True

    def _map(self, node: Mapping[str, Any], at: str, depth: int) -> Json:
        """An object whose keys are the caller's to choose: each key is bounded, and its value described."""
        values = node.get("additionalProperties")
        if values is False:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        if not isinstance(values, Mapping) or not values:
            raise Inexpressible("takes any object")
        most = self._bounds.of(node, "object").get("maxProperties", MAX_KEYS)
        return {
            "type": "object",
            "patternProperties": {_ANY_KEY: self.close(values, f"{at}/*", depth + 1)},
            "additionalProperties": False,
            "maxProperties": min(most, MAX_KEYS),
        }

    def _choice(self, node: Mapping[str, Any], branches: list[Any], at: str, depth: int) -> Json:
        """One of several schemas, whichever the vendor tells apart and how; what stands beside them holds for each."""
        if len(branches) > MAX_BRANCHES:
            raise Inexpressible(f"is a choice of more than {MAX_BRANCHES}")
        if "oneOf" in node and "anyOf" in node:
            raise Inexpressible("combines several choices")
        beside = {name: value for name, value in node.items() if name not in ("oneOf", "anyOf", "discriminator")}
        if beside.keys() - _ABOUT:
            base = {name: value for name, value in beside.items() if name not in _ABOUT}
            branches = [self._with(base, branch) for branch in branches]
        found = self._branches(branches, at, depth)
        found = with_null(found) if node.get("nullable") is True else found
        return self._with_default(node, found)

    def _with(self, base: Mapping[str, Any], branch: Any) -> Json:
        try:
            other = merged(self._references, self._references.follow(branch))
            return both(self._references, base, other)
        except Inexpressible:
            return {}  # which takes any value, so that it is left out like every branch that cannot be said

    def _branches(self, branches: list[Any], at: str, depth: int) -> Json:
        found: list[Json] = []
        for branch in branches:
            if mapping(branch).get("type") in ("null", ["null"]):
                found.append({"type": "null"})
                continue
            try:
                closed = self.close(branch, at, depth + 1)
            except Inexpressible as why:
                self.note(f"a choice of {at}", why.reason)
                continue
            if closed not in found:
                found.append(closed)
        if not found or found == [{"type": "null"}]:
            raise Inexpressible("has no form that can be given")
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _with_default(self, node: Mapping[str, Any], found: Json) -> Json:
        default = node.get("default")
        if default is None or is_pasted(default) or not _is_small(default) or "$ref" in str(found):
            return found
        return {**found, "default": default} if self._bounds.is_valid(found, default) else found


def _values(node: Mapping[str, Any], kinds: list[str], *, takes_null: bool) -> Json:
    """The values by name; those of another type than the schema's own are nobody's."""
    fitting = (value for value in values_of(node) if fits(value, kinds, takes_null=takes_null))
    values = [value for value in fitting if not is_pasted(value)]
    if takes_null and None not in values:
        values.append(None)
    if not values or values == [None]:
        raise Inexpressible("is one of values that cannot be written down")
    named = [*kinds, *(["null"] if takes_null else [])]
    found: Json = {"type": named[0] if len(named) == 1 else named, "enum": values}
    default = node.get("default")
    is_known = any(type(default) is type(value) and default == value for value in values)
    return {**found, "default": default} if default is not None and is_known else found


def _only_narrows(branch: Any) -> bool:
    """Whether a branch says nothing but which parts have to be there: that is left to the vendor."""
    return isinstance(branch, Mapping) and branch.keys() <= {"required", "not", "title", "description"}


def _is_small(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= 20 and all(is_plain(one) for one in value)
    return is_plain(value)


def _check_name(name: str) -> None:
    if not 0 < len(name) <= 128 or not name.isprintable():
        raise Inexpressible("has a name that nobody can write")
