"""What comes back is read as JSON, as text or not at all, and its schema promises little."""

from typing import Any

import pytest
from fakes.descriptions import answered, reason_of, row_of

from gateway.arguments.schema import compile_schema
from gateway.importing.answers import MAX_PROPERTIES, is_json

NOTE = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "text": {"type": "string", "maxLength": 5, "description": "What it **says**."},
        "state": {"type": "string", "enum": ["open"]},
        "author": {"type": "object", "properties": {"name": {"type": "string"}, "deep": {"type": "object"}}},
        "any": {"oneOf": [{"type": "string"}, {"type": "object"}]},
    },
    "required": ["id", "text"],
    "additionalProperties": False,
}


def kinds(**contents: Any) -> Any:
    """Answers by status, each with one media type; None for no content."""
    return {
        "responses": {
            status[1:]: {"description": "", **({} if kind is None else {"content": {kind: {"schema": NOTE}}})}
            for status, kind in contents.items()
        }
    }


def test_the_schema_names_the_first_levels_and_requires_nothing() -> None:
    """An answer that is a little different from what was promised still goes through, after a write above all."""
    schema = row_of(answered(NOTE))["output_schema"]
    compiled = compile_schema(schema)
    for answer in (
        {},
        {"id": None, "text": "longer", "state": "new", "more": 1},
        {"author": {"deep": {"x": 5}, "new": 1}, "any": [1]},
    ):
        assert compiled.is_valid(answer)
    assert not compiled.is_valid([])
    assert not compiled.is_valid({"id": "x"})
    assert schema["properties"]["text"] == {"type": ["string", "null"], "description": "What it says."}
    assert "additionalProperties" not in str(schema)
    assert "required" not in str(schema)


def test_lists_and_references_are_followed_for_two_levels() -> None:
    """What recurs ends there; a long list of properties ends as well."""
    wide = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(100)}}
    tree = {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Tree"}}}
    schemas = {"Tree": tree, "Wide": wide}
    row = row_of(answered({"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}), schemas=schemas)
    assert row["output_schema"]["items"]["properties"]["child"] == {"type": ["object", "null"]}
    row = row_of(answered({"$ref": "#/components/schemas/Wide"}), schemas=schemas)
    assert len(row["output_schema"]["properties"]) == MAX_PROPERTIES


@pytest.mark.parametrize(
    ("operation", "answer", "has_schema"),
    [
        (answered(NOTE), None, True),
        (kinds(_200="application/vnd.api+json"), None, True),
        (kinds(_200="text/html"), {"type": "text"}, True),
        (kinds(_204=None), {"type": "none"}, False),
        (kinds(_200="application/json", _202="application/json"), None, False),
        (kinds(_default="application/json"), None, True),
        (kinds(_404="application/json"), {"type": "none"}, False),
        (answered({"$ref": "https://evil.example/a.json"}), None, False),
        ({"responses": {"200": {"$ref": "other.yaml"}}}, None, False),
        (answered({"anyOf": [NOTE, {"type": "array"}]}), None, False),
        ({}, {"type": "none"}, False),
    ],
)
def test_an_answer_is_read_as_it_is_described(operation: Any, answer: Any, has_schema: bool) -> None:
    """JSON needs no word. Where nobody can be sure there is no schema."""
    row = row_of(operation)
    assert row["binding"]["options"].get("answer") == answer
    assert ("output_schema" in row) is has_schema


def test_an_answer_that_may_be_empty_may_be_null() -> None:
    """Which is what an empty one is read as."""
    schema = row_of(kinds(_200="application/json", _204=None))["output_schema"]
    assert schema["type"] == ["object", "null"]


def test_nothing_is_read_of_the_answer_to_head() -> None:
    """It has none."""
    row = row_of(answered(NOTE), method="head")
    assert "answer" not in row["binding"]["options"]
    assert "output_schema" not in row


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (kinds(_200="application/pdf"), "neither JSON nor text"),
        (kinds(_200="text/event-stream"), "neither JSON nor text"),
        (kinds(_302=None), "a redirect"),
    ],
)
def test_files_streams_and_redirects_are_skipped(operation: Any, why: str) -> None:
    """Nobody could read them."""
    assert why in reason_of(operation, method="get")


def test_json_is_told_by_its_media_type() -> None:
    """Whatever it is of."""
    assert all(
        map(is_json, ("application/json", "Application/JSON; charset=utf-8", "application/hal+json", "text/json"))
    )
    assert not any(map(is_json, ("application/jsonl", "text/x+json", "application/xml", "")))
