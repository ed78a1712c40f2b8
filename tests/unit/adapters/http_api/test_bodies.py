"""A body is JSON or a form, of what the row says."""

from typing import Any

import orjson
import pytest

from adapters.http_api.bodies import read_body
from adapters.http_api.options import Issues, Part
from adapters.http_api.shapes import Shapes

SHAPES = Shapes(
    {
        "type": "object",
        "properties": {"text": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}, "deep": {}},
    }
)


def written(raw: Any, **arguments: Any) -> tuple[bytes | None, list[tuple[str, str]]]:
    """The body, and what is wrong with the arguments."""
    issues: Issues = []
    body = read_body(Part(raw, "", issues), SHAPES)
    assert issues == []
    assert body is not None
    return body.written(arguments, issues), [(issue.path, issue.rule) for issue in issues]


FIELDS = {"text": {"argument": "/text"}, "source": {"value": {"by": ["agent"]}}, "tags": {"argument": "/tags"}}


def test_json_by_name() -> None:
    """What is absent is left out, what is null is null, and a literal is the row's."""
    body, _ = written({"type": "json", "fields": FIELDS}, text=None)
    assert orjson.loads(body or b"") == {"text": None, "source": {"by": ["agent"]}}


def test_json_as_one_value() -> None:
    """An argument, all arguments, or a literal; nothing when it is absent."""
    assert (
        written({"type": "json", "content": {"argument": "/deep"}}, deep=[1, 9007199254740993])[0]
        == b"[1,9007199254740993]"
    )
    assert written({"type": "json", "content": {"argument": ""}}, text="a")[0] == b'{"text":"a"}'
    assert written({"type": "json", "content": {"value": None}})[0] == b"null"
    assert written({"type": "json", "content": {"argument": "/deep"}}) == (None, [])


def test_a_form() -> None:
    """Escaped, with a list as one field for each item."""
    fields = {"text": {"argument": "/text"}, "tag[]": {"argument": "/tags"}, "n": {"value": 1}}
    body, _ = written({"type": "form", "fields": fields}, text="a&b=c\r\nd ä", tags=["x", "y"])
    assert body == b"text=a%26b%3Dc%0D%0Ad+%C3%A4&tag%5B%5D=x&tag%5B%5D=y&n=1"


@pytest.mark.parametrize(
    ("raw", "arguments", "where"),
    [
        ({"type": "json", "fields": FIELDS}, {"text": "\ud800", "tags": ["a"]}, "/text"),
        ({"type": "json", "fields": FIELDS}, {"text": "a", "tags": ["a", "\ud800"]}, "/tags/1"),
        ({"type": "json", "content": {"argument": "/deep"}}, {"deep": {"a/b": [2**70]}}, "/deep/a~1b/0"),
        ({"type": "form", "fields": {"text": {"argument": "/text"}}}, {"text": "\ud800"}, "/text"),
    ],
)
def test_what_cannot_be_sent_is_told_by_its_place(raw: Any, arguments: dict[str, Any], where: str) -> None:
    """However deep it is."""
    assert [path for path, _ in written(raw, **arguments)[1]] == [where]


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({}, ["/type"]),
        ({"type": "xml", "content": {"value": 1}}, ["/type"]),
        ({"type": "json"}, [""]),
        ({"type": "json", "fields": {}, "content": {"value": 1}}, [""]),
        ({"type": "form", "content": {"value": 1}}, ["/content"]),
        ({"type": "json", "content": {"argument": "/nowhere"}}, ["/content/argument"]),
        ({"type": "json", "fields": {"a": {}}}, ["/fields/a"]),
        ({"type": "form", "fields": {"a": {"argument": ""}}}, ["/fields/a/argument"]),
    ],
)
def test_a_body_that_cannot_be_made_is_a_problem_of_its_row(raw: Any, where: list[str]) -> None:
    """With its place."""
    issues: Issues = []
    read_body(Part(raw, "", issues), SHAPES)
    assert [issue.path for issue in issues] == where


def test_a_name_that_cannot_be_sent_is_a_problem_of_the_row() -> None:
    """Were it found in a call, the body would be left out."""
    issues: Issues = []
    fields = {"a\ud800": {"value": 1}}
    read_body(Part({"type": "json", "fields": fields}, "/body", issues), Shapes({}))
    assert [issue.rule for issue in issues] == ["name"]
