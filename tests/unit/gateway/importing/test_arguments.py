"""The arguments of an operation are one flat object, and its path names those in it."""

import pytest
from fakes.descriptions import answered, body, parameter, reason_of, row_of

from gateway.arguments.schema import compile_schema


def test_everything_is_one_closed_object() -> None:
    """Path, query, header and body; which the gateway's checker takes."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    parameters = [parameter("id", "path"), parameter("id"), parameter("X-Trace", "header")]
    row = row_of({**body(schema), "parameters": parameters}, path="/notes/{id}")
    compiled = compile_schema(row["input_schema"])
    assert compiled.is_valid({"id": "1", "id_query": "2", "X-Trace": "3", "text": "hi"})
    assert not compiled.is_valid({"id": "1", "text": "hi", "more": 1})
    assert row["binding"]["options"]["query"] == {"id": {"argument": "/id_query"}}


@pytest.mark.parametrize(
    ("path", "parameters", "why"),
    [
        ("/a/{id}", [], "{id}, which is no parameter"),
        ("/a", [parameter("id", "path")], "not in the path"),
        ("/a?b={id}", [parameter("id", "path")], "a query or a fragment"),
        ("/a#b", [], "a query or a fragment"),
        ("/a", [parameter("a[b]"), parameter("a_b")], "cannot be told apart"),
        ("/a/{id}", [parameter("id", "path", schema={"type": "object"})], "takes any object"),
        ("/a/{id}", [parameter("id", "path", schema={"type": "array", "items": {"type": "string"}})], "than one text"),
    ],
)
def test_a_path_that_cannot_be_filled_in_is_skipped(path: str, parameters: list[dict[str, object]], why: str) -> None:
    """As are parameters that nobody could tell apart."""
    assert why in reason_of({**answered(), "parameters": parameters}, path=path, method="get")
