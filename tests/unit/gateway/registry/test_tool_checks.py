"""One tool is checked against its adapter, its settings and its own words."""

from typing import Any

import pytest
from fakes.adapter import FakeAdapter

from gateway.arguments.schema import compile_schema
from gateway.documents import Document
from gateway.registry.manifest import ToolRow
from gateway.registry.places import Placed
from gateway.registry.tool_checks import bind_tool, check_description, check_tool, compile_tool, named_elsewhere
from gateway.settings.load import Settings

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {"text": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["red"]}}},
}
TOOL: dict[str, Any] = {
    "name": "echo",
    "description": "Echoes `text`.",
    "input_schema": SCHEMA,
    "output_schema": {"type": "object", "properties": {"seen": {"type": "string"}}},
    "requires": [],
    "side_effect": "read",
    "binding": {"adapter": "fake", "operation": "echo", "connection": "fake"},
    "surfaces": ["grpc"],
}


def placed(**changes: Any) -> Placed[ToolRow]:
    """The tool, changed as asked."""
    document = Document(file="x.yaml", value=None, lines={})
    return Placed(row=ToolRow.model_validate(TOOL | changes), document=document, at=("tools", 0))


def rules(**changes: Any) -> list[str]:
    """The rules that the changed tool breaks."""
    tool = placed(**changes)
    compiled, problems = compile_tool(tool, compile_schema)
    assert problems == []
    operation, unbound = bind_tool(tool, compiled, {"fake": FakeAdapter()})
    found = [
        *unbound,
        *check_tool(tool, compiled, operation=operation, settings=Settings()),
        *check_description(tool, named_elsewhere(tool), {"echo", "other_tool"}),
    ]
    return [problem.rule for problem in found]


@pytest.mark.parametrize(
    "description",
    [
        "Plain words.",
        "`text` and `tags`.",
        "`true`, `false`, `null`.",
        "The value `red`.",
        "The result's `seen`.",
        "Call `other_tool` first.",
        "Not a name: `a b`, `x.y`, `--flag`, `/path`, `5`.",
    ],
)
def test_a_description_may_name_what_there_is(description: str) -> None:
    """Parameters, values, fields of the result, other tools; and anything that is no name."""
    assert rules(description=description) == []


@pytest.mark.parametrize("description", ["Give `txt`.", "`Text` is needed.", "`text` and `cc`."])
def test_a_description_must_not_name_what_there_is_not(description: str) -> None:
    """A model would send it."""
    assert rules(description=description) == ["description_names"]


def test_a_read_need_not_say_idempotency_and_a_write_must() -> None:
    """Any of the three will do."""
    schema = {**SCHEMA, "required": ["path"], "properties": {"path": {"type": "string"}}}
    binding = {"adapter": "fake", "operation": "write", "connection": "fake"}
    write = {"side_effect": "write", "binding": binding, "input_schema": schema, "description": "Writes."}
    assert rules(**write) == ["idempotency"]
    for rule in ("required", "optional", "natural"):
        assert rules(**write, idempotency=rule) == []


def test_schemas_that_compile_come_back() -> None:
    """Both of them; None for an output that has no schema."""
    compiled, problems = compile_tool(placed(), compile_schema)
    assert problems == []
    assert compiled.schema is not None
    assert compiled.output_schema is not None
    assert compile_tool(placed(output_schema=None), compile_schema)[0].output_schema is None


def test_g13_a_schema_that_points_elsewhere_never_reaches_the_compiler() -> None:
    """It is refused before anything could follow it."""
    compiled: list[Any] = []

    def remember(schema: Any) -> Any:
        compiled.append(schema)
        return compile_schema(schema)

    remote = {**SCHEMA, "properties": {"text": {"$ref": "http://127.0.0.1:9/x"}}}
    found, problems = compile_tool(placed(input_schema=remote, output_schema=None), remember)
    assert (found.schema, [problem.rule for problem in problems], compiled) == (None, ["remote_ref"], [])


@pytest.mark.parametrize(("default", "want"), [("red", []), ("green", ["default"])])
def test_a_default_must_fit_its_own_schema_wherever_that_stands(default: str, want: list[str]) -> None:
    """Also one that is a reference to another property."""
    properties = {"text": {"enum": ["red"]}, "other": {"$ref": "#/properties/text", "default": default}}
    _, problems = compile_tool(placed(input_schema={**SCHEMA, "properties": properties}), compile_schema)
    assert [problem.rule for problem in problems] == want
