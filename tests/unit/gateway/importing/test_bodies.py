"""A body becomes arguments beside the parameters where it can, else one argument."""

from typing import Any

import pytest
from fakes.descriptions import answered, body, document, parameter, proposed, reason_of, row_of

TEXT = {"type": "string"}
FORM = "application/x-www-form-urlencoded"


def obj(*required: str, **properties: Any) -> dict[str, Any]:
    """An object."""
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def notes_of(operation: Any, method: str = "post") -> tuple[dict[str, Any], list[str]]:
    """The options and the notes of what is proposed."""
    (tool,) = proposed(document({"/notes": {method: operation}})).tools
    return tool.row["binding"]["options"], list(tool.notes)


def test_an_object_stands_beside_the_parameters() -> None:
    """Under its own names, as far as models take them."""
    row = row_of({**body(obj("text", text=TEXT, **{"@type": TEXT})), "parameters": [parameter("page")]})
    assert row["binding"]["options"] == {
        "method": "POST",
        "path": "/notes",
        "query": {"page": {"argument": "/page"}},
        "body": {"type": "json", "fields": {"text": {"argument": "/text"}, "@type": {"argument": "/type"}}},
        "answer": {"type": "none"},
    }
    assert list(row["input_schema"]["properties"]) == ["page", "text", "type"]
    assert row["input_schema"]["required"] == ["text"]


@pytest.mark.parametrize(
    "operation",
    [
        {**body(obj(page=TEXT)), "parameters": [parameter("page")]},
        body({"oneOf": [obj("a", a=TEXT), obj("b", b=TEXT)]}),
        body({"type": "array", "items": TEXT}),
        body(obj(**{f"p{number}": TEXT for number in range(61)})),
        body(obj(**{"a-b": TEXT, "a b": TEXT, "a_b": TEXT})),
        body({"type": "object", "additionalProperties": TEXT}),
        body(obj("a", a=TEXT), required=False),
    ],
    ids=["collision", "choice", "list", "huge", "alike", "map", "optional"],
)
def test_what_cannot_stand_beside_them_is_one_argument(operation: Any) -> None:
    """Named body, and required when the body is."""
    row = row_of(operation)
    assert row["binding"]["options"]["body"] == {"type": "json", "content": {"argument": "/body"}}
    required = row["input_schema"].get("required", [])
    assert ("body" in required) is operation["requestBody"]["required"]


def test_the_name_of_the_body_gives_way() -> None:
    """When a parameter has it."""
    schema = {"type": "array", "items": TEXT}
    one = row_of({**body(schema), "parameters": [parameter("body")]})
    assert one["binding"]["options"]["body"]["content"] == {"argument": "/request_body"}
    both = [parameter("body"), parameter("request_body")]
    assert "no name that is free" in reason_of({**body(schema), "parameters": both})


def test_a_form_has_plain_fields() -> None:
    """Lists of texts as well; what is more is left out, or ends the operation when it is required."""
    schema = obj("name", name=TEXT, tags={"type": "array", "items": TEXT}, meta=obj(a=TEXT))
    options, notes = notes_of(body(schema, kind=FORM))
    assert options["body"] == {"type": "form", "fields": {"name": {"argument": "/name"}, "tags": {"argument": "/tags"}}}
    assert notes == ["/meta is more than a field of a form can hold, and is left out"]
    assert "more than texts" in reason_of(body(obj("meta", meta=obj(a=TEXT)), kind=FORM))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"application/json; charset=utf-8": {"schema": obj(a=TEXT)}}, None),
        ({"application/merge-patch+json": {"schema": obj(a=TEXT)}}, "application/merge-patch+json"),
        ({"text/plain": {}, "application/json": {"schema": obj(a=TEXT)}}, None),
    ],
)
def test_json_may_have_another_name(content: Any, kind: str | None) -> None:
    """Which goes out as it is written."""
    options = row_of({**answered(), "requestBody": {"required": True, "content": content}})["binding"]["options"]
    assert options.get("headers") == (kind and {"Content-Type": {"value": kind}})
    assert options["body"]["fields"] == {"a": {"argument": "/a"}}


@pytest.mark.parametrize("kind", ["multipart/form-data", "application/octet-stream", "application/xml", "*/*"])
def test_uploads_and_other_formats_are_skipped(kind: str) -> None:
    """Left out with a note where the body is optional."""
    assert "neither JSON nor a form" in reason_of(body(obj(a=TEXT), kind=kind))
    options, notes = notes_of(body(obj(a=TEXT), kind=kind, required=False))
    assert "body" not in options
    assert "neither JSON nor a form" in notes[0]


def test_a_body_of_nothing_is_none() -> None:
    """And a GET has none: told when it could have held something."""
    assert notes_of(body({"type": "object", "properties": {}}, kind=FORM, required=False), "get")[1] == []
    assert notes_of(body(obj(a=TEXT), required=False), "get")[1] == [
        "the body belongs to a GET, which has none, and is left out"
    ]
    assert "belongs to a GET" in reason_of(body(obj(a=TEXT)), method="get")


def test_a_recursive_body_is_flat_too() -> None:
    """With its definition beside it."""
    tree = obj("name", name=TEXT, child={"$ref": "#/components/schemas/Tree"})
    row = row_of(body({"$ref": "#/components/schemas/Tree"}), schemas={"Tree": tree})
    assert list(row["input_schema"]["properties"]) == ["name", "child"]
    assert list(row["input_schema"]["$defs"]) == ["Tree"]


@pytest.mark.parametrize("encoding", [{"explode": False}, {"style": "pipeDelimited"}, {"contentType": "text/csv"}])
def test_a_list_in_a_form_that_is_written_otherwise_is_left_out(encoding: dict[str, Any]) -> None:
    """A form repeats the field for each item here, and nothing else."""
    operation = body(obj(a=TEXT, tags={"type": "array", "items": TEXT}), kind=FORM)
    operation["requestBody"]["content"][FORM]["encoding"] = {"tags": encoding}
    options, notes = notes_of(operation)
    assert options["body"]["fields"] == {"a": {"argument": "/a"}}
    assert len(notes) == 1
