"""What an input schema says of an argument is found through references and compositions, and never on a network."""

from typing import Any

import pytest

from adapters.http_api.shapes import Shapes

SCHEMA: dict[str, Any] = {
    "type": "object",
    "$defs": {"name": {"type": "string"}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "integer"}]}},
    "properties": {
        "plain": {"type": "string", "minLength": 1},
        "named": {"$ref": "#/$defs/name"},
        "loop": {"$ref": "#/$defs/loop"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "union": {"type": ["integer", "null"]},
        "choice": {"enum": ["a", 1, None]},
        "fixed": {"const": True},
        "open": {},
        "any": True,
        "usual": {"type": "string", "default": "x"},
        "list": {"type": "array", "items": {"type": "string"}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        "deep": {"type": "object", "properties": {"a/b": {"type": "number"}}},
        "far": {"$ref": "http://127.0.0.1:9/x.json"},
    },
    "allOf": [{"properties": {"more": {"type": "boolean"}}, "required": ["more"]}],
    "required": ["plain"],
}
shapes = Shapes(SCHEMA)


@pytest.mark.parametrize(
    ("tokens", "types"),
    [
        (("plain",), {"string"}),
        (("named",), {"string"}),
        (("loop",), {"integer"}),
        (("either",), {"string", "null"}),
        (("union",), {"integer", "null"}),
        (("choice",), {"string", "integer", "null"}),
        (("fixed",), {"boolean"}),
        (("open",), set()),
        (("any",), set()),
        (("list",), {"array"}),
        (("list", "3"), {"string"}),
        (("pair", "0"), {"integer"}),
        (("pair", "1"), {"string"}),
        (("deep", "a/b"), {"number"}),
        (("more",), {"boolean"}),
        ((), {"object"}),
    ],
)
def test_types_are_found(tokens: tuple[str, ...], types: set[str]) -> None:
    """Wherever the schema says them; none where it says none."""
    found = shapes.at(tokens)
    assert found
    assert shapes.types(found) == types


@pytest.mark.parametrize("tokens", [("nowhere",), ("plain", "x"), ("list", "x"), ("deep", "a"), ("$defs",)])
def test_what_the_schema_does_not_describe_is_not_there(tokens: tuple[str, ...]) -> None:
    """Though it may let it in."""
    assert shapes.at(tokens) == []


def test_a_foreign_reference_says_nothing() -> None:
    """It is not followed (G13)."""
    assert shapes.types(shapes.at(("far",))) == set()


def test_items_of_a_list() -> None:
    """As far as they are described."""
    assert shapes.types(shapes.items(shapes.at(("list",)))) == {"string"}
    assert shapes.items(shapes.at(("open",))) == []


@pytest.mark.parametrize(("name", "is_there"), [("plain", True), ("more", True), ("usual", True), ("named", False)])
def test_an_argument_is_always_there(name: str, is_there: bool) -> None:
    """When it is required, or has a default."""
    assert shapes.is_always_there(name) is is_there


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 7}, {"properties": {"a": 7}}, {"allOf": 7, "required": 7}, {"$ref": 7}]
)
def test_a_schema_that_is_none_describes_nothing(schema: dict[str, Any]) -> None:
    """It is judged elsewhere."""
    assert Shapes(schema).at(("a",)) == []
    assert not Shapes(schema).is_always_there("a")


def test_a_schema_that_refers_to_itself_everywhere_ends() -> None:
    """Soon."""
    wide = {"anyOf": [{"properties": {"a": {"$ref": "#"}}}] * 1000, "allOf": [{"$ref": "#"}] * 1000}
    assert Shapes(wide).at(("a",) * 10)


def test_the_names_of_arguments() -> None:
    """Those that an object may have, whichever schema speaks of them; and what one more token leads to."""
    schema = {
        "properties": {"a": {"properties": {"x": {"type": "string"}}}, "never": False},
        "allOf": [{"properties": {"b": {}}}],
    }
    shapes = Shapes(schema)
    root = shapes.at(())
    assert shapes.names(root) == {"a", "b"}
    assert shapes.types(shapes.below(shapes.below(root, "a"), "x")) == {"string"}
