"""Schemas of inputs are closed, and say no more than can be checked."""

from typing import Any

import pytest

from gateway.arguments.schema import compile_schema
from gateway.importing.closing import MAX_BRANCHES, MAX_NOTES, Closing
from gateway.importing.reasons import Inexpressible, Skipped
from gateway.importing.references import References
from gateway.importing.scalars import Bounds

Json = dict[str, Any]


def closing(**schemas: Any) -> Closing:
    """Over a document with these schemas."""
    return Closing(References({"components": {"schemas": schemas}}), Bounds(compile_schema))


def closed(schema: Any, **schemas: Any) -> Json:
    """The schema, closed. Nothing is left out of it."""
    one = closing(**schemas)
    found = one.close(schema, "")
    assert one.notes == []
    return found


def reason(schema: Any, **schemas: Any) -> str:
    """Why it cannot be closed."""
    with pytest.raises(Inexpressible) as caught:
        closing(**schemas).close(schema, "")
    return caught.value.reason


def ref(name: str) -> Json:
    """A reference to one of the schemas."""
    return {"$ref": f"#/components/schemas/{name}"}


TEXT = {"type": "string"}
SHUT = {"additionalProperties": False}


def test_objects_are_closed_at_every_level() -> None:
    """And required is only what is there."""
    inner = {"type": "object", "properties": {"a": TEXT}, "required": ["a", "gone"], "additionalProperties": True}
    assert closed({"properties": {"list": {"items": inner}}}) == {
        "type": "object",
        "properties": {
            "list": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"a": TEXT},
                    "required": ["a"],
                    "additionalProperties": False,
                },
            }
        },
        "additionalProperties": False,
    }


def test_what_only_the_service_sets_is_left_out_without_a_word() -> None:
    """It is no argument; neither is what refers to such a thing."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "readOnly": True}, "at": ref("Time"), "name": TEXT},
        "required": ["id", "name"],
    }
    found = closed(schema, Time={"type": "string", "readOnly": True})
    assert list(found["properties"]) == found["required"] == ["name"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"enum": ["a", "b", "a"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "enum": ["a", 1]}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"const": 3}, {"type": "integer", "enum": [3]}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "number", "exclusiveMaximum": 5}, {"type": "number", "exclusiveMaximum": 5}),
        ({"type": "integer", "maximum": 2**63}, {"type": "integer"}),
        ({"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
        ({"type": "string", "format": "snowflake"}, {"type": "string"}),
        ({"type": "string", "pattern": "^[a-z]+$"}, {"type": "string", "pattern": "^[a-z]+$"}),
        ({"type": "string", "pattern": r"(?=a)(a|b)\1"}, {"type": "string"}),
        ({"type": "string", "minLength": 5, "maxLength": 2}, {"type": "string"}),
        ({"type": "integer", "default": 30}, {"type": "integer", "default": 30}),
        ({"type": "integer", "default": "30"}, {"type": "integer"}),
        ({"type": "string", "title": "T", "example": "e", "xml": {}, "x-more": 1}, {"type": "string"}),
        ({"items": TEXT, "maxItems": 3}, {"type": "array", "items": TEXT, "maxItems": 3}),
        ({"items": TEXT, "uniqueItems": True}, {"type": "array", "items": TEXT, "uniqueItems": True}),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "properties": {}, **SHUT}),
        ({"type": ["integer", "string"]}, {"type": ["integer", "string"]}),
        ({"type": ["string", "array"], "items": TEXT}, {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}),
    ],
)  # fmt: skip
def test_values_keep_what_can_be_checked(schema: Json, expected: Json) -> None:
    """Of 3.0 and 3.1 alike."""
    assert closed(schema) == expected


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({}, "takes any value"),
        (True, "takes any value"),
        ({"description": "Anything."}, "takes any value"),
        ({"type": "object"}, "takes any object"),
        ({"type": "object", "additionalProperties": {}}, "takes any object"),
        ({"type": "array"}, "does not say what its items are"),
        ({"type": "array", "items": {}}, "takes any value"),
        ({"type": "string", "format": "binary"}, "takes a file"),
        ({"type": "null"}, "takes null alone"),
        ({"enum": [{"a": 1}]}, "cannot be written down"),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, "needs /a, which takes any value"),
        ({"type": "object", "properties": {"a": {"type": "string", "readOnly": True}}}, "no part that can be given"),
        ({"oneOf": [{}, {"type": "object"}]}, "no form that can be given"),
        ({"oneOf": [TEXT], "anyOf": [TEXT]}, "combines several choices"),
        ({"oneOf": [{"const": number} for number in range(MAX_BRANCHES + 1)]}, "a choice of more than"),
        ({"$ref": "#/nowhere"}, "something that is not there"),
        ({"$ref": 5}, "no text"),
        ({"$ref": "#anchor"}, "no pointer"),
    ],
)
def test_what_cannot_be_closed_says_why(schema: Any, why: str) -> None:
    """In words for whoever reads the proposal."""
    assert why in reason(schema)


def test_what_is_optional_and_cannot_be_closed_is_left_out_with_a_note() -> None:
    """The rest stays. Notes have an end."""
    one = closing()
    schema = {"type": "object", "properties": {"name": TEXT, "meta": {"type": "object"}}}
    assert list(one.close(schema, "")["properties"]) == ["name"]
    assert one.notes == ["/meta takes any object, and is left out"]
    one.close({"properties": {"name": TEXT, **{f"p{number}": {} for number in range(200)}}}, "")
    assert len(one.notes) == MAX_NOTES


def test_a_map_has_bounded_keys_and_described_values() -> None:
    """Which is how a map can be closed."""
    found = closed({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 5})
    assert found == {
        "type": "object",
        "patternProperties": {"^.{1,128}$": {"type": "integer"}},
        "additionalProperties": False,
        "maxProperties": 5,
    }
    schema = compile_schema(found)
    assert schema.is_valid({"a": 1})
    assert not schema.is_valid({"a": "1"})


def test_all_of_is_one_object() -> None:
    """Closed each alone, no value would fit them both."""
    schema = {"allOf": [ref("Base"), {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}]}
    found = closed(schema, Base={"type": "object", "properties": {"a": TEXT}, "required": ["a"]})
    assert compile_schema(found).is_valid({"a": "x", "b": "y"})
    assert sorted(found["required"]) == ["a", "b"]
    assert "allOf" not in found


def test_one_of_is_any_of_without_a_discriminator() -> None:
    """A branch that cannot be said is left out with a note; what stands beside the branches holds for each."""
    one = closing(Cat={"type": "object", "properties": {"kind": {"const": "cat"}}, "required": ["kind"]})
    schema = {
        "oneOf": [ref("Cat"), {"type": "string"}, {"type": "object"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "Cat"}},
    }
    found = one.close(schema, "")
    assert [branch["type"] for branch in found["anyOf"]] == ["object", "string"]
    assert one.notes == ["a choice of  takes any object, and is left out"]
    beside = closed({"type": "object", "properties": {"a": TEXT}, "oneOf": [ref("B"), ref("C")]}, **{
        name: {"type": "object", "properties": {name.lower(): TEXT}} for name in "BC"
    })  # fmt: skip
    assert [list(branch["properties"]) for branch in beside["anyOf"]] == [["a", "b"], ["a", "c"]]


def test_branches_that_only_require_are_left_to_the_service() -> None:
    """Models do not take them, and the service looks again."""
    schema = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    assert "anyOf" not in closed({**schema, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})


def test_a_schema_in_itself_is_a_definition() -> None:
    """Once, however often it recurs; what failed leaves none behind."""
    tree = {"type": "object", "properties": {"name": TEXT, "left": ref("Tree"), "right": ref("Tree")}}
    one = closing(Tree=tree)
    assert one.close(ref("Tree"), "") == {"$ref": "#/$defs/Tree"}
    assert one.defs["Tree"]["properties"]["left"] == {"$ref": "#/$defs/Tree"}
    assert compile_schema({"$ref": "#/$defs/Tree", "$defs": one.defs}).is_valid({"left": {"right": {"name": "x"}}})
    broken = closing(Tree={**tree, "properties": {**tree["properties"], "bad": {}}, "required": ["bad"]})
    with pytest.raises(Inexpressible):
        broken.close(ref("Tree"), "")
    assert broken.defs == {}


def test_words_beside_a_reference_are_kept() -> None:
    """Those of the place, not those of what it refers to; null as well."""
    own = {**TEXT, "description": "Own."}
    found = closed({**ref("A"), "description": "Of the **place**.", "nullable": True}, A=own)
    assert found == {"type": ["string", "null"], "description": "Of the place."}
    narrowed = closed({**ref("A"), "maxLength": 3}, A=TEXT)
    assert narrowed == {"type": "string", "maxLength": 3}


def test_a_deep_or_large_schema_is_not_followed_to_its_end() -> None:
    """Neither is one that doubles with every reference."""
    deep: Json = TEXT
    for _ in range(40):
        deep = {"type": "array", "items": deep}
    assert "levels deep" in reason(deep)
    laughs = {f"s{n}": {"properties": {"a": ref(f"s{n + 1}"), "b": ref(f"s{n + 1}")}} for n in range(11)}
    with pytest.raises(Skipped, match="parts"):
        closing(**laughs, s11=TEXT).close(ref("s0"), "")


def test_g13_a_reference_to_elsewhere_ends_the_whole_operation() -> None:
    """Wherever it stands: nothing is ever fetched."""
    for elsewhere in ("other.yaml#/A", "https://evil.example/a.json", "file:///etc/passwd", "//x"):
        with pytest.raises(Skipped, match="never fetched"):
            closing().close({"type": "object", "properties": {"a": {"$ref": elsewhere}}}, "")
