"""Arguments that are wanted in headers too."""

from typing import Any

import pytest

from adapters.mcp_upstream.mirrored import NotAllowed, encoded, mirrored, standard, wanted


def _tool(**properties: Any) -> dict[str, Any]:
    return {"name": "x", "inputSchema": {"type": "object", "properties": properties}}


REGION = {"type": "string", "x-mcp-header": "Region"}


def test_arguments_in_headers() -> None:
    """At any depth of properties; what is absent, null or no plain value has no header."""
    nested = {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}}
    headers = wanted(_tool(region=REGION, deep=nested, dry={"type": "boolean", "x-mcp-header": "Dry"}))
    arguments = {"region": "us-west1", "deep": {"n": -7}, "dry": True, "other": 1}
    assert mirrored(headers, arguments) == {
        "Mcp-Param-Region": "us-west1",
        "Mcp-Param-N": "-7",
        "Mcp-Param-Dry": "true",
    }
    assert mirrored(headers, {"region": None, "deep": 7, "dry": [True]}) == {}
    assert mirrored(headers, {"region": "x" * 5000}) == {}


def test_tools_without_wishes() -> None:
    """A property that is called like the keyword is no wish, nor is data."""
    assert wanted({"name": "x"}) == {}
    assert wanted(_tool(**{"x-mcp-header": {"type": "string"}})) == {}
    assert wanted(_tool(a={"type": "string", "default": {"x-mcp-header": "A"}})) == {}


@pytest.mark.parametrize(
    "schema",
    [
        {"x-mcp-header": "A", "type": "string"},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A\r\nAuthorization"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A\n"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 7}}},
        {"properties": {"a": REGION, "b": {**REGION, "x-mcp-header": "rEGION"}}},
        {"properties": {"a": {"type": "array", "items": REGION}}},
        {"anyOf": [{"properties": {"a": REGION}}]},
        {"$defs": {"a": REGION}},
        {"additionalProperties": REGION},
    ],
)
def test_wishes_that_are_not_allowed(schema: dict[str, Any]) -> None:
    """Make the whole tool one that nobody can call."""
    with pytest.raises(NotAllowed):
        wanted({"name": "x", "inputSchema": schema})


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", ""),
    ],
)
def test_values_are_safe(value: str, header: str) -> None:
    """As the specification's own examples have it; no value ends a header."""
    assert encoded(value) == header


def test_standard_headers() -> None:
    """The method in all, the name in calls."""
    assert standard("tools/list", {}) == {"Mcp-Method": "tools/list"}
    assert standard("tools/call", {"name": "grüß"})["Mcp-Name"] == "=?base64?Z3LDvMOf?="
