"""What a policy is timed on: the largest documents of each tool."""

import json
from typing import Any

import jsonschema_rs
import pytest
from fakes.rows import agent, tool

from gateway.policy.timing import largest, timing_documents
from gateway.rows import Tool


def _made(*tools: Tool, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(name, json.loads(document)) for name, document in timing_documents(tools, **options)]


def test_each_tool_has_a_document_for_each_property() -> None:
    """Under its name, one tool after the other."""
    two = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    assert [name for name, _ in _made(tool(input_schema=two), tool(name="other"))] == ["echo", "echo", "other"]


def test_the_agent_with_a_grant_is_asked_for() -> None:
    """Its argument rules are what takes the time."""
    granted = agent(name="granted", grants={"echo": {}}, policy_json=b'{"name":"granted"}')
    made = [document for _, document in _made(tool(), agents=[agent(), granted])]
    assert {document["agent"]["name"] for document in made} == {"granted"}
    assert {document["principal"]["agent"] for document in made} == {"granted"}


def test_prepare_makes_what_policy_sees() -> None:
    """The adapter's own preparation counts; one that cannot take made-up arguments does not stop the check."""
    made = _made(tool(), preparing=lambda _tool: lambda _arguments: {"prepared": 1})
    assert made[-1][1]["arguments"] == {"prepared": 1}

    def fails(_arguments: object) -> dict[str, Any]:
        raise ValueError("no")

    assert list(_made(tool(), preparing=lambda _tool: fails)[-1][1]["arguments"]) == ["text"]


SCHEMAS: list[dict[str, Any]] = [
    {
        "type": "object",
        "properties": {"a": {"type": "array", "maxItems": 7, "items": {"type": "string", "maxLength": 3}}},
    },
    {
        "type": "object",
        "properties": {"a": {"enum": ["x", "longest", "y"]}, "b": {"const": 1}, "c": {"type": "boolean"}},
    },
    {"type": "object", "properties": {"a": {"type": ["null", "string"], "maxLength": 5}, "b": {"type": "number"}}},
    {
        "type": "object",
        "$defs": {
            "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}
        },
        "properties": {"a": {"$ref": "#/$defs/node"}},
    },
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 9}]}}},
    {"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "string"}}}]},
    {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "integer"}},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_largest_is_an_instance(schema: dict[str, Any]) -> None:
    """It is what an agent could really send."""
    validator = jsonschema_rs.Draft202012Validator(schema)
    made = list(largest(schema))
    assert made
    for value in made:
        assert value
        assert "$defs" in schema or validator.is_valid(value)  # recursion is cut, and ends in null


def test_lists_and_strings_are_full() -> None:
    """As many items and as many letters as the schema admits."""
    (value,) = largest(SCHEMAS[0])
    assert [len(item) for item in value["a"]] == [3] * 7


def test_each_property_is_filled_first_once() -> None:
    """Two unbounded lists share the leaves; the policy may be slow on either."""
    items = {"type": "array", "items": {"type": "string"}}
    made = list(largest({"type": "object", "properties": {"a": items, "b": items}}, leaves=100))
    assert [(len(value["a"]), len(value["b"])) for value in made] == [(99, 1), (1, 99)]


def test_leaves_and_bytes_are_bounded() -> None:
    """No schema makes the check itself run away."""
    deep: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    (value,) = largest({"type": "object", "properties": {"a": deep}}, leaves=50, max_bytes=5000)
    assert len(json.dumps(value)) < 20_000
    empty: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "object"}}}
    (value,) = largest({"type": "object", "properties": {"a": empty}}, leaves=50)
    assert value == {"a": [[{}] * 50]}


def test_addresses_look_like_addresses() -> None:
    """A rule about domains has something to take apart."""
    items = {"type": "array", "maxItems": 2, "items": {"type": "string", "format": "email", "maxLength": 40}}
    (value,) = largest({"type": "object", "properties": {"to": items}})
    assert all(item.endswith("@example.com") and len(item) == 40 for item in value["to"])
