"""What an upstream's schema must not be."""

from typing import Any

import pytest

from adapters.mcp_upstream.schemas import MAX_BYTES, MAX_LEVELS, schema_problems

EVIL = "http://127.0.0.1:9/x.json"


def problems(schema: object) -> str:
    """All of them."""
    return "\n".join(schema_problems(schema, "the schema"))


def holding(**node: Any) -> dict[str, Any]:
    """An object with a property that is this."""
    return {"type": "object", "properties": {"a": node}}


def deep(levels: int) -> dict[str, Any]:
    """An object of so many levels in all."""
    node: dict[str, Any] = {}
    for _ in range(levels - 3):
        node = {"items": node}
    return holding(**node)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        holding(type="string", description="Who\ngets it"),
        {"$schema": "http://json-schema.org/draft-07/schema#", **holding(type="string")},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **holding(type="string")},
        {**holding(**{"$ref": "#/$defs/b"}), "$defs": {"b": {"type": "string"}}},
        holding(**{"$ref": "#"}),
        {"type": "object", "properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}},
        holding(enum=[{"$ref": EVIL}], default={"$id": EVIL}, const={"$ref": EVIL}, examples=[{"$ref": EVIL}]),
        deep(MAX_LEVELS),
    ],
)
def test_a_schema_that_stands_alone_is_one(schema: dict[str, Any]) -> None:
    """Values that look like references are none, and neither are properties of such a name."""
    assert problems(schema) == ""


@pytest.mark.parametrize("key", ["$ref", "$dynamicRef", "$recursiveRef"])
@pytest.mark.parametrize("target", [EVIL, "x.json", "#name", "//host/x", "", 7, None])
def test_g13_a_reference_to_something_outside_is_a_problem(key: str, target: object) -> None:
    """Wherever it stands."""
    for schema in ({"type": "object", key: target}, holding(**{key: target}), holding(unknown=[{"x": {key: target}}])):
        assert f"outside of itself ({key})" in problems(schema)


@pytest.mark.parametrize("key", ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"])
def test_g13_a_name_to_be_referred_to_by_is_a_problem(key: str) -> None:
    """It would say where references lead to."""
    assert f"({key})" in problems(holding(**{key: EVIL}))
    assert f"({key})" in problems({"type": "object", key: EVIL})


def test_an_unknown_dialect_is_a_problem() -> None:
    """Somebody would have to fetch it to know what it means."""
    assert "$schema" in problems({"type": "object", "$schema": EVIL})
    assert "$schema" in problems({"type": "object", "$schema": 7})
    assert "$schema" in problems({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema/../evil"})


@pytest.mark.parametrize("schema", [None, [], "x", True, 7])
def test_what_is_no_object_is_no_schema(schema: object) -> None:
    """Though JSON Schema has true and false."""
    assert problems(schema) == "the schema is no object"


@pytest.mark.parametrize("schema", [{}, {"type": "string"}, {"type": ["object"]}, {"anyOf": [{"type": "object"}]}])
def test_arguments_are_an_object(schema: dict[str, Any]) -> None:
    """In so many words."""
    assert problems(schema) == "the schema does not describe an object"


def test_a_schema_has_bounds() -> None:
    """Of bytes and of levels."""
    for schema in (deep(MAX_LEVELS + 1), deep(900), deep(3000), holding(description="x" * MAX_BYTES)):
        assert "larger or deeper" in problems(schema)


def test_a_schema_hides_nothing() -> None:
    """Not in a description, not in a name, not in a value."""
    hidden = "a\u200bb"
    schemas = (holding(description=hidden), {"type": "object", "properties": {hidden: {}}}, holding(enum=[hidden]))
    assert all("nobody sees" in problems(schema) for schema in schemas)
    assert problems(holding(description="\ud800")) == problems(deep(3000))
