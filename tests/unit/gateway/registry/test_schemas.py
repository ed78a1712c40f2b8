"""A tool's schemas are closed and local, and their pointers lead somewhere."""

from typing import Any

import pytest

from gateway.registry import schemas


def rules(findings: Any) -> list[str]:
    """The rules of what was found."""
    return [finding.rule for finding in findings]


CLOSED = {"type": "object", "additionalProperties": False}
LIST = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    "schema",
    [
        CLOSED,
        {**CLOSED, "properties": {"a": {"type": "string"}, "b": LIST, "c": CLOSED}},
        {**CLOSED, "properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": CLOSED}},
        {**CLOSED, "properties": {"a": {"anyOf": [{"type": "string"}, CLOSED]}, "b": {"enum": [1]}}},
        {**CLOSED, "properties": {"a": {"type": "string"}}, "if": {"properties": {"a": {"minLength": 1}},
         "additionalProperties": False}},
    ],
)  # fmt: skip
def test_a_closed_schema_passes(schema: dict[str, Any]) -> None:
    """Nothing gets in that is not described."""
    assert rules(schemas.closed(schema)) == []


@pytest.mark.parametrize(
    ("schema", "rule", "at"),
    [
        ({"type": "string"}, "root_object", ("type",)),
        ({"type": ["object", "null"], "additionalProperties": False}, "root_object", ("type",)),
        ({"type": "object"}, "closed", ()),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "closed", ()),
        ({**CLOSED, "$defs": {"d": {"type": ["object", "null"]}}}, "closed", ("$defs", "d")),
        ({**CLOSED, "properties": {"a": {"anyOf": [{"type": "object"}]}}}, "closed", ("properties", "a", "anyOf", 0)),
        ({**CLOSED, "properties": {"a": {"type": "array"}}}, "items", ("properties", "a")),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {}}}}, "typed", ("properties", "a", "items")),
        ({**CLOSED, "properties": {"a": {"minLength": 1}}}, "typed", ("properties", "a")),
    ],
)
def test_an_opening_is_found_at_its_place(schema: dict[str, Any], rule: str, at: tuple[Any, ...]) -> None:
    """Wherever it hides."""
    assert [(finding.rule, finding.at) for finding in schemas.closed(schema)] == [(rule, at)]


@pytest.mark.parametrize("reference", ["#", "#/$defs/a", "#/properties/x"])
def test_a_local_reference_passes(reference: str) -> None:
    """So does the one dialect."""
    assert rules(schemas.local({"$ref": reference, "$schema": schemas.DIALECT})) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://x/y"},
        {"$ref": "y.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#anchor"},
        {"$ref": ""},
        {"$ref": 1},
        {"$dynamicRef": "http://x/y"},
        {"$recursiveRef": "http://x/y"},
        {"$id": "http://x/y"},
        {"$anchor": "a"},
        {"if": {"$ref": "http://x/y"}},
        {"contains": {"$ref": "http://x/y"}},
        {"dependentSchemas": {"a": {"$ref": "http://x/y"}}},
        {"prefixItems": [{"$ref": "http://x/y"}]},
        {"additionalProperties": {"not": {"$ref": "http://x/y"}}},
    ],
)
def test_g13_a_reference_to_elsewhere_is_found(schema: dict[str, Any]) -> None:
    """In every keyword that can hold a schema."""
    assert rules(schemas.local(schema)) == ["remote_ref"]


def test_another_dialect_is_found() -> None:
    """One dialect is enough to get right."""
    assert rules(schemas.local({"$schema": "http://json-schema.org/draft-07/schema#"})) == ["dialect"]


@pytest.mark.parametrize(
    ("name", "part", "is_flag"),
    [
        ("mode", {"enum": ["read", "write"]}, True),
        ("Action", {"type": "string", "enum": ["a"]}, True),
        ("operation", {"type": "boolean"}, True),
        ("mode", {"type": "string"}, False),
        ("priority", {"enum": ["low"]}, False),
        ("dry_run", {"type": "boolean"}, False),
    ],
)
def test_a_mode_flag_is_warned_of(name: str, part: dict[str, Any], is_flag: bool) -> None:
    """A choice between things to do, by its name and its kind."""
    found = list(schemas.modes({"properties": {name: part}}))
    assert bool(found) is is_flag
    assert all(finding.is_warning for finding in found)


@pytest.mark.parametrize("schema", [{"anyOf": []}, {"oneOf": []}, {"not": {}}, {"properties": {"a": {"oneOf": []}}}])
def test_what_strict_mode_does_not_take_is_warned_of(schema: dict[str, Any]) -> None:
    """Most at the root, oneOf anywhere."""
    assert [(finding.rule, finding.is_warning) for finding in schemas.strict(schema)] == [("strict_mode", True)]


OUTPUT = {
    "properties": {
        "a/b": {"type": "string"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "choice": {"anyOf": [{"properties": {"x": {}}}, {"type": "null"}]},
        "map": {"additionalProperties": {"properties": {"y": {}}}},
        "ring": {"$ref": "#/$defs/ring"},
    },
    "$defs": {"item": {"properties": {"name": {}}}, "ring": {"$ref": "#/$defs/ring"}},
}


@pytest.mark.parametrize(
    ("pointer", "want"),
    [
        ("/a~1b", True),
        ("/list", True),
        ("/list/0/name", True),
        ("/list/*/name", True),
        ("/*/*/name", True),
        ("/choice/x", True),
        ("/map/*/y", True),
        ("/a", False),
        ("/list/name", False),
        ("/list/*/none", False),
        ("/list/-", False),
        ("/choice/y", False),
        ("/ring/x", False),
        ("/a~1b/x", False),
    ],
)
def test_a_pointer_leads_to_what_is_described(pointer: str, want: bool) -> None:
    """Through lists, references and branches; `*` is every item or property."""
    assert schemas.has_pointer(OUTPUT, pointer) is want


def test_names_and_values_are_collected_at_any_depth() -> None:
    """For what a description may name."""
    schema = {"properties": {"a": {"properties": {"b": {"enum": ["x", 1]}}}, "c": {"const": "y", "default": "z"}}}
    assert schemas.parameters(schema) == {"a", "b", "c"}
    assert schemas.literals(schema) == {"x", "y", "z"}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}},
        },
        {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"properties": {"x": {"oneOf": [{"type": "null"}, {"$ref": "#/properties/x"}]}}},
        {"$ref": "#"},
        {"properties": {"a/b": {"then": {"$ref": "#/properties/a~1b"}}}},
    ],
)
def test_a_schema_that_is_only_itself_again_is_told(schema: dict[str, Any]) -> None:
    """A validator lets everything through there."""
    assert [finding.rule for finding in schemas.founded(schema)] == ["founded"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"a": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}}}}},
        {"$defs": {"a": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}}},
        {
            "properties": {
                "x": {"$ref": "#/$defs/none"},
                "y": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/x"}]},
            }
        },
        {"properties": {"x": {"$ref": "#"}}},
    ],
)
def test_a_schema_that_recurs_in_a_part_of_the_value_is_let_be(schema: dict[str, Any]) -> None:
    """A tree ends where the value does."""
    assert list(schemas.founded(schema)) == []
