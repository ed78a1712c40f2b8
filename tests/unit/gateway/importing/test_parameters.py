"""A parameter becomes an argument, and the place that it goes to."""

from typing import Any

import pytest
from fakes.descriptions import answered, document, parameter, proposed, reason_of, row_of


def asked(*parameters: Any, path: str = "/notes", method: str = "get") -> dict[str, Any]:
    """The row of an operation with these parameters."""
    return row_of({**answered(), "parameters": list(parameters)}, path=path, method=method)


def left_out(one: Any, method: str = "get") -> list[str]:
    """What is said of an optional parameter that is left out."""
    proposal = proposed(document({"/notes": {method: {**answered(), "parameters": [one]}}}))
    assert proposal.tools[0].row["input_schema"]["properties"] == {}
    return list(proposal.tools[0].notes)


def test_path_query_and_header_are_arguments() -> None:
    """Each by a name that models take."""
    row = asked(
        parameter("note-id", "path", description="Which **note**."),
        parameter("filter[tag]", schema={"type": "integer", "nullable": True, "default": 3}),
        parameter("X-Reason", "header", required=True),
        path="/notes/{note-id}.json",
    )
    assert row["binding"]["options"] == {
        "method": "GET",
        "path": "/notes/{note_id}.json",
        "query": {"filter[tag]": {"argument": "/filter_tag"}},
        "headers": {"X-Reason": {"argument": "/X-Reason"}},
        "answer": {"type": "none"},
    }
    assert row["input_schema"] == {
        "type": "object",
        "properties": {
            "note_id": {"type": "string", "description": "Which note."},
            "filter_tag": {"type": "integer", "default": 3},
            "X-Reason": {"type": "string"},
        },
        "required": ["note_id", "X-Reason"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({}, {"argument": "/tags"}),
        ({"style": "form", "explode": True}, {"argument": "/tags"}),
        ({"explode": False}, {"argument": "/tags", "style": "comma"}),
    ],
)
def test_a_list_is_repeated_or_has_commas(more: Any, place: Any) -> None:
    """As the document says."""
    row = asked(parameter("tags", schema={"type": "array", "items": {"type": "string"}}, **more))
    assert row["binding"]["options"]["query"] == {"tags": place}


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (parameter("session", "cookie"), "is a cookie"),
        (parameter("q", schema={"type": "object", "properties": {"a": {"type": "string"}}}), "more than one text"),
        (parameter("q", style="deepObject", schema={"type": "array", "items": {"type": "string"}}), "deepObject"),
        (parameter("q", style="pipeDelimited", schema={"type": "array", "items": {"type": "string"}}), "pipeDelimited"),
        (
            parameter("q", schema={"type": "array", "items": {"type": "array", "items": {"type": "string"}}}),
            "a list of",
        ),
        (parameter("X-A", "header", schema={"type": "array", "items": {"type": "string"}}), "more than one text"),
        (parameter("X A", "header"), "a name that nobody can write"),
        (parameter("q" * 300), "a name that nobody can write"),
        (parameter("q", schema={}), "takes any value"),
        ({"name": "q", "in": "query", "content": {"application/json": {}}}, "a document of its own"),
        (parameter("q", "body"), "a place that is not known"),
    ],
)
def test_what_no_text_can_be_is_left_out_or_ends_the_operation(one: Any, why: str) -> None:
    """The first where it is optional, the second where it is required."""
    (note,) = left_out(one)
    assert why in note
    assert why in reason_of({**answered(), "parameters": [{**one, "required": True}]}, method="get")


@pytest.mark.parametrize("name", ["Accept", "content-type", "Authorization", "X-Forwarded-For", "Host", "User-Agent"])
def test_headers_of_the_sender_are_no_arguments(name: str) -> None:
    """Required or not: whoever sends the request sets them."""
    assert left_out(parameter(name, "header", required=True)) == []


@pytest.mark.parametrize("name", ["Idempotency-Key", "X-Idempotency-Key"])
def test_a_key_of_the_services_own_is_used(name: str) -> None:
    """By the gateway and not by the agent; a read needs none."""
    row = asked(parameter(name, "header", required=True), method="post")
    assert row["binding"]["options"]["key_header"] == name
    assert row["input_schema"]["properties"] == {}
    assert "X" in "".join(asked(parameter(f"X-{name}", "header"))["input_schema"]["properties"])


def test_a_path_of_several_segments_is_one_argument() -> None:
    """Where the document says that it may have slashes."""
    row = asked(parameter("file", "path", **{"x-multi-segment": True}), path="/files/{file}")
    assert row["binding"]["options"]["path"] == "/files/{+file}"
    plain = asked(
        parameter("file", "path", schema={"type": "integer"}, **{"x-multi-segment": True}), path="/files/{file}"
    )
    assert plain["binding"]["options"]["path"] == "/files/{file}"


@pytest.mark.parametrize("style", ["matrix", "label"])
def test_a_path_is_written_in_one_style(style: str) -> None:
    """A request in another one would ask for something else."""
    operation = {**answered(), "parameters": [parameter("id", "path", style=style)]}
    assert f"in the style {style}" in reason_of(operation, path="/notes/{id}")
