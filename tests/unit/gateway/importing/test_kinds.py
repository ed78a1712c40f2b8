"""The types that a closed schema takes, and the schema with null and without."""

from typing import Any

import pytest

from gateway.importing.kinds import text_kinds, with_null, without_null

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "kinds", "items"),
    [
        (TEXT, {"string"}, set()),
        ({"type": ["string", "null"]}, {"string", "null"}, set()),
        ({"anyOf": [TEXT, {"type": "array", "items": {"type": "integer"}}]}, {"string", "array"}, {"integer"}),
        ({"$ref": "#/$defs/a"}, {"object"}, set()),
    ],
)
def test_types_are_found_in_every_branch(schema: Any, kinds: set[str], items: set[str]) -> None:
    """What is not told counts as an object, which no text is."""
    assert text_kinds(schema) == (kinds, items)


@pytest.mark.parametrize(
    "schema",
    [TEXT, {"type": ["string", "integer"]}, {"type": "string", "enum": ["a"]}, {"anyOf": [TEXT, {"type": "object"}]}],
)
def test_null_is_added_once_and_taken_away_again(schema: Any) -> None:
    """Whatever form the schema has."""
    nullable = with_null(schema)
    assert nullable != schema
    assert with_null(nullable) == nullable
    assert without_null(nullable) == schema
    assert without_null({"type": ["string", "null"], "enum": ["a", None]}) == {"type": "string", "enum": ["a"]}
