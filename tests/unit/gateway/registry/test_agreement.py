"""Schema and code cannot drift: whatever a schema lets in is a value of the operation's type."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from gateway.registry.agreement import disagreements


class Inner(TypedDict):
    """An object inside."""

    x: int
    y: NotRequired[str]


class Arguments(TypedDict):
    """One argument of every kind."""

    text: str
    count: NotRequired[int]
    ratio: NotRequired[float]
    flag: NotRequired[bool]
    maybe: NotRequired[str | None]
    level: NotRequired[Literal["low", "high"]]
    tags: NotRequired[list[str]]
    grid: NotRequired[list[list[int]]]
    inner: NotRequired[Inner]
    many: NotRequired[list[Inner]]
    labels: NotRequired[dict[str, str]]
    either: NotRequired[str | list[str]]
    free: NotRequired[Any]
    noted: NotRequired[Annotated[str, "a note"]]


def found(name: str, part: Any, **schema: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """Where the schema, with this part under this name, disagrees."""
    whole = {"type": "object", "properties": {"text": {"type": "string"}, name: part}, "required": ["text"], **schema}
    return [(finding.at, finding.message) for finding in disagreements(whole, Arguments)]


INNER = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("count", {"type": "integer"}),
        ("ratio", {"type": "number"}),
        ("ratio", {"type": "integer"}),
        ("flag", {"type": "boolean"}),
        ("maybe", {"type": ["string", "null"]}),
        ("maybe", {"type": "string"}),
        ("maybe", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("level", {"enum": ["low", "high"]}),
        ("level", {"type": "string", "enum": ["low"]}),
        ("level", {"const": "high"}),
        ("tags", {"type": "array", "items": {"type": "string"}}),
        ("tags", {"type": "array", "items": {"enum": ["a"]}}),
        ("grid", {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        ("inner", INNER),
        ("many", {"type": "array", "items": INNER}),
        ("labels", {"type": "object", "properties": {"a": {"type": "string"}}}),
        ("either", {"type": ["string", "array"], "items": {"type": "string"}}),
        ("free", {}),
        ("free", {"type": "object", "properties": {"a": {"type": "null"}}}),
        ("noted", {"type": "string"}),
        ("text", {"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "x"}]}),
        ("text", {"$ref": "#/$defs/t"}),
    ],
)
def test_a_schema_that_is_no_wider_agrees(name: str, part: Any) -> None:
    """Equal, or narrower."""
    assert found(name, part, **{"$defs": {"t": {"type": "string"}}}) == []


@pytest.mark.parametrize(
    ("name", "part", "below"),
    [
        ("count", {"type": "number"}, ()),
        ("count", {"type": ["integer", "null"]}, ()),
        ("count", {"enum": [1, "2"]}, ()),
        ("count", {"enum": [True]}, ()),
        ("flag", {"type": "integer"}, ()),
        ("text", {}, ()),
        ("text", {"anyOf": [{"type": "string"}, {"type": "null"}]}, ("anyOf", 1)),
        ("level", {"type": "string"}, ()),
        ("level", {"enum": ["low", "middle"]}, ()),
        ("level", {"const": "middle"}, ()),
        ("tags", {"type": "array", "items": {"type": "integer"}}, ("items",)),
        ("tags", {"type": "array"}, ("items",)),
        ("tags", {"type": "string"}, ()),
        ("grid", {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, ("items", "items")),
        ("inner", {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, ("properties", "x")),
        ("inner", {"type": "object", "properties": {"x": {"type": "integer"}}}, ("properties", "x")),
        ("inner", {"type": "object", "properties": {}}, ()),
        ("labels", {"type": "object", "properties": {"a": {"type": "integer"}}}, ("properties", "a")),
        ("either", {"type": ["string", "integer"]}, ()),
        ("unknown", {"type": "string"}, ()),
        ("text", {"$ref": "#/$defs/none"}, ()),
    ],
)
def test_a_wider_schema_is_found_at_its_place(name: str, part: Any, below: tuple[str | int, ...]) -> None:
    """One finding, which points at the part."""
    ((at, message),) = found(name, part)
    assert at == ("properties", name, *below)
    assert message


def test_what_the_type_requires_the_schema_must_require() -> None:
    """Or give a default, at the root, where defaults are filled in."""
    assert found("text", {"type": "string"}, required=[]) != []
    assert found("text", {"type": "string", "default": "x"}, required=[]) == []
    assert found("inner", {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}}) != []


def test_a_schema_may_leave_out_what_the_type_does_not_require() -> None:
    """A tool may offer less than its operation can do."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    assert list(disagreements(schema, Arguments)) == []


def test_a_recursive_schema_ends() -> None:
    """A ring of references is a finding, not a hang."""
    ring = {"$ref": "#/$defs/r"}
    assert found("text", ring, **{"$defs": {"r": ring}}) != []
