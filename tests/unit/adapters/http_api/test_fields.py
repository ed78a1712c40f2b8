"""Parameters, headers and fields of a form are texts, each from its source."""

from typing import Any

import pytest

from adapters.http_api.fields import Field, Header, read_fields, read_headers
from adapters.http_api.options import Issues, Part
from adapters.http_api.shapes import Shapes
from adapters.http_api.sources import Source

SHAPES = Shapes(
    {
        "properties": {
            "page": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "reason": {"type": "string"},
            "open": {},
        }
    }
)
TAGS = Source(pointer="/tags", tokens=("tags",))


def texts(one: Field, **arguments: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """The texts, and what is wrong."""
    issues: Issues = []
    return one.texts(arguments, issues), [(issue.path, issue.rule) for issue in issues]


def header(value: Any) -> tuple[str | None, list[tuple[str, str]]]:
    """The text of a header, and what is wrong."""
    issues: Issues = []
    text = Header("X-Reason", Source(pointer="/reason", tokens=("reason",))).text({"reason": value}, issues)
    return text, [(issue.path, issue.rule) for issue in issues]


def test_a_list_is_repeated_or_joined() -> None:
    """As the row says."""
    assert texts(Field("tag", TAGS), tags=["a", 1, True]) == (["a", "1", "true"], [])
    assert texts(Field("tag", TAGS, "comma"), tags=["a", "b"]) == (["a,b"], [])
    assert texts(Field("tag", Source(value=["x", 2]))) == (["x", "2"], [])


def test_what_is_absent_null_or_empty_is_left_out() -> None:
    """It is no empty text."""
    assert texts(Field("tag", TAGS)) == ([], [])
    assert texts(Field("tag", TAGS), tags=None) == ([], [])
    assert texts(Field("tag", TAGS, "comma"), tags=[]) == ([], [])
    assert texts(Field("tag", TAGS), tags="") == ([""], [])


def test_what_does_not_fit_is_told_by_its_place() -> None:
    """Item by item."""
    assert texts(Field("tag", TAGS), tags=["a", {}, "\ud800"])[1] == [("/tags/1", "type"), ("/tags/2", "type")]
    assert texts(Field("tag", TAGS, "comma"), tags=["a,b", "c"])[1] == [("/tags/0", "comma")]
    assert texts(Field("tag", TAGS), tags={})[1] == [("/tags", "type")]


@pytest.mark.parametrize("value", ["a\r\nHost: evil.test", "a\nb", "a\0", "ä", " a", "a\t", "x" * 5000, {}, ["a"]])
def test_what_would_end_a_header_early_is_refused(value: Any) -> None:
    """And what is read otherwise at the other side."""
    assert header(value)[1] == [("/reason", "header")]


def test_a_header_is_left_out_with_its_argument() -> None:
    """Or it goes out as it is."""
    assert header(None) == (None, [])
    assert header('it\'s due; "now"') == ('it\'s due; "now"', [])
    assert header(7) == ("7", [])


def read(raw: Any, *, has_style: bool = True) -> list[str]:
    """Where problems of a query are."""
    issues: Issues = []
    read_fields(Part(raw, "", issues), SHAPES, has_style=has_style)
    return [issue.path for issue in issues]


def test_problems_of_parameters() -> None:
    """Each with its place."""
    assert read({"page": {"argument": "/page"}, "x[]": {"argument": "/tags", "style": "comma"}}) == []
    assert read({"a": {"argument": "/tags", "style": "pipes"}}) == ["/a/style"]
    assert read({"a": {"argument": "/tags", "style": "comma"}}, has_style=False) == ["/a/style"]
    assert read({"": {"value": 1}, "a\n": {"value": 1}, "b": 7}) == ["/b", "/", "/a\n"]


def test_problems_of_headers() -> None:
    """A name that comes twice in two spellings is one of them."""
    issues: Issues = []
    raw = {
        "X-One": {"value": "a"},
        "x-one": {"argument": "/reason"},
        "X-Two": {"value": "a\nb"},
        "X-Three": {"argument": "/tags"},
        "Host": {"value": "evil.test"},
        "X-Four": {"argument": "/open"},
    }
    headers = read_headers(Part(raw, "", issues), SHAPES)
    assert [issue.path for issue in issues] == ["/x-one", "/X-Two/value", "/X-Three/argument", "/Host"]
    assert [one.name for one in headers] == ["X-One", "X-Two", "X-Four"]


@pytest.mark.parametrize("value", ["a,b", ["a", "b,c"]])
def test_a_literal_that_no_call_could_send_is_a_problem_of_the_row(value: Any) -> None:
    """And not one of every call."""
    issues: Issues = []
    read_fields(Part({"a": {"value": value, "style": "comma"}}, "", issues), SHAPES, has_style=True)
    assert ("/a/value", "comma") in [(issue.path, issue.rule) for issue in issues]


@pytest.mark.parametrize("source", [{"value": "x"}, {"argument": "/word"}])
def test_a_style_of_what_is_no_list_is_a_problem(source: dict[str, Any]) -> None:
    """It would say nothing."""
    issues: Issues = []
    shapes = Shapes({"properties": {"word": {"type": "string"}, "any": {}}})
    read_fields(Part({"a": {**source, "style": "repeat"}}, "", issues), shapes, has_style=True)
    assert [(issue.path, issue.rule) for issue in issues] == [("/a/style", "style")]


def test_headers_that_a_server_may_take_for_one_another_are_one() -> None:
    """Many read `_` and `-` alike, so the second would be another value of the first."""
    issues: Issues = []
    read_headers(Part({"X-Key": {"value": "a"}, "x_key": {"value": "b"}}, "", issues), SHAPES)
    assert [(issue.path, issue.rule) for issue in issues] == [("/x_key", "twice")]
