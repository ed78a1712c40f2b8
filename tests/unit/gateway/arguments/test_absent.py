"""What an agent left out: nulls that mean absent, and defaults."""

from typing import Any

import pytest

from gateway.arguments.absent import resolve
from gateway.arguments.schema import compile_schema

STRING = {"type": "string"}


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """A closed object's schema."""
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(required)}


def completed(schema: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """The value as it goes on to validation."""
    return compile_schema(schema).complete(value, may_hold_null=True)


@pytest.mark.parametrize(
    "part",
    [STRING, {"enum": ["a"]}, {"const": 1}, {"anyOf": [STRING, {"type": "integer"}]}, {"$ref": "#/$defs/s"}],
)
def test_a_null_that_the_schema_does_not_take_means_absent(part: dict[str, Any]) -> None:
    """However the schema says that it takes no null."""
    schema = closed({"a": part, "b": STRING}, "b") | {"$defs": {"s": STRING}}
    assert completed(schema, {"a": None, "b": "x"}) == {"b": "x"}


@pytest.mark.parametrize(
    "part",
    [
        {"type": ["string", "null"]},
        {"enum": ["a", None]},
        {"anyOf": [STRING, {"type": "null"}]},
        {"$ref": "#/$defs/n"},
        {"const": None},
    ],
)
def test_a_null_that_the_schema_takes_stays(part: dict[str, Any]) -> None:
    """It is a value, and may mean something else than absence."""
    schema = closed({"a": part}) | {"$defs": {"n": {"type": "null"}}}
    assert completed(schema, {"a": None}) == {"a": None}


def test_a_null_for_a_required_property_stays() -> None:
    """So that validation can refuse it by name."""
    schema = compile_schema(closed({"a": STRING}, "a"))
    value = schema.complete({"a": None}, may_hold_null=True)
    assert [(issue.path, issue.rule) for issue in schema.issues(value)] == [("/a", "type")]


def test_a_null_for_an_unknown_property_stays() -> None:
    """So that validation can refuse it by name."""
    assert completed(closed({}), {"a": None}) == {"a": None}


def test_nulls_are_dropped_inside_of_objects_and_lists() -> None:
    """At every level that the schema describes."""
    inner = closed({"x": STRING, "y": STRING}, "x")
    schema = closed({"one": inner, "many": {"type": "array", "items": inner}})
    value = {"one": {"x": "a", "y": None}, "many": [{"x": "a", "y": None}, {"x": "b", "y": "c"}]}
    assert completed(schema, value) == {"one": {"x": "a"}, "many": [{"x": "a"}, {"x": "b", "y": "c"}]}


def test_a_recursive_schema_is_followed_as_deep_as_the_value() -> None:
    """A reference to the root ends where the value ends."""
    schema = closed({"name": STRING, "child": {"$ref": "#"}})
    value = {"name": None, "child": {"name": None, "child": {"name": "x", "child": None}}}
    assert completed(schema, value) == {"child": {"child": {"name": "x"}}}


def test_a_reference_that_leads_in_a_ring_does_no_harm() -> None:
    """It does not hang, and nothing is dropped for it."""
    schema = closed({"a": {"$ref": "#/$defs/r"}}) | {"$defs": {"r": {"$ref": "#/$defs/r"}}}
    assert completed(schema, {}) == {}


def test_a_value_of_another_shape_passes_through() -> None:
    """Validation says what is wrong with it."""
    schema = closed({"one": closed({"x": STRING}), "many": {"type": "array", "items": closed({"x": STRING})}})
    value = {"one": [None, {"x": None}], "many": {"x": None}}
    assert completed(schema, value) == {"one": [None, {"x": None}], "many": {"x": None}}


def test_absent_properties_get_their_default() -> None:
    """Given ones keep their value, and a null that means absent counts as absent."""
    schema = closed({"a": {"type": "integer", "default": 5}, "b": {"type": "integer", "default": 6}})
    assert completed(schema, {"a": None, "b": 1}) == {"a": 5, "b": 1}
    assert completed(schema, {}) == {"a": 5, "b": 6}


def test_a_default_is_a_fresh_copy_each_time() -> None:
    """One call cannot change the default of the next."""
    schema = compile_schema(closed({"a": {"type": "array", "items": STRING, "default": ["x"]}}))
    schema.complete({}, may_hold_null=False)["a"].append("y")
    assert schema.complete({}, may_hold_null=False) == {"a": ["x"]}


@pytest.mark.parametrize(
    ("pointer", "want"), [("#", {"a/b": [1]}), ("#/a~1b/0", 1), ("#/a~1b/1", None), ("#/x/y", None)]
)
def test_resolve_follows_a_local_pointer(pointer: str, want: Any) -> None:
    """With escapes and indexes; None when it leads nowhere."""
    assert resolve({"a/b": [1]}, pointer) == want
