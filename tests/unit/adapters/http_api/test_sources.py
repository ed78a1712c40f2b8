"""A value of a request comes from one place, which the schema must know."""

from typing import Any

import pytest

from adapters.http_api.options import Issues, Part
from adapters.http_api.pointers import ABSENT
from adapters.http_api.shapes import Shapes
from adapters.http_api.sources import ANYTHING, TEXT, TEXTS, Source, Wanted, read_source

SHAPES = Shapes(
    {
        "properties": {
            "text": {"type": "string"},
            "maybe": {"type": ["string", "null"]},
            "texts": {"type": "array", "items": {"type": "string"}},
            "mixed": {"type": ["string", "array"], "items": {"type": "integer"}},
            "objects": {"type": "array", "items": {"type": "object"}},
            "object": {"type": "object"},
            "open": {},
        }
    }
)


def read(raw: Any, wanted: Wanted = TEXT, *others: str) -> tuple[Source | None, list[str]]:
    """The source, and where problems are."""
    issues: Issues = []
    return read_source(Part(raw, "", issues), SHAPES, wanted, *others), [issue.path for issue in issues]


def test_a_literal_is_the_rows() -> None:
    """Whatever the arguments are."""
    source, problems = read({"value": "x"})
    assert (source, problems) == (Source(value="x"), [])
    assert source is not None
    assert source.take({"value": "y"}) == "x"


def test_an_argument_is_the_calls() -> None:
    """Or it is absent."""
    source, problems = read({"argument": "/text", "style": "comma"}, TEXT, "style")
    assert problems == []
    assert source is not None
    assert source.take({"text": "y"}) == "y"
    assert source.take({}) is ABSENT


@pytest.mark.parametrize(
    ("pointer", "wanted"),
    [
        ("/text", TEXT),
        ("/maybe", TEXT),
        ("/open", TEXT),
        ("/texts/0", TEXT),
        ("/texts", TEXTS),
        ("/mixed", TEXTS),
        ("/open", TEXTS),
        ("/object", ANYTHING),
        ("", ANYTHING),
    ],
)
def test_what_may_fit_is_taken(pointer: str, wanted: Wanted) -> None:
    """A null is left out, and what the schema does not say is looked at in the call."""
    assert read({"argument": pointer}, wanted)[1] == []


@pytest.mark.parametrize(
    ("raw", "wanted", "where"),
    [
        ({}, TEXT, ""),
        ({"value": 1, "argument": "/text"}, TEXT, ""),
        ({"value": 1, "style": "comma"}, TEXT, "/style"),
        ({"argument": "text"}, TEXT, "/argument"),
        ({"argument": 7}, TEXT, "/argument"),
        ({"argument": "/nowhere"}, ANYTHING, "/argument"),
        ({"argument": "/texts"}, TEXT, "/argument"),
        ({"argument": "/object"}, TEXTS, "/argument"),
        ({"argument": "/objects"}, TEXTS, "/argument"),
        ({"argument": ""}, TEXTS, "/argument"),
        ({"value": None}, TEXT, "/value"),
        ({"value": ["a"]}, TEXT, "/value"),
        ({"value": [["a"]]}, TEXTS, "/value"),
        ({"value": {"a": 1}}, TEXTS, "/value"),
        ({"value": object()}, ANYTHING, "/value"),
        ({"value": "\ud800"}, ANYTHING, "/value"),
    ],
)
def test_what_cannot_fit_is_a_problem(raw: Any, wanted: Wanted, where: str) -> None:
    """With its place."""
    assert read(raw, wanted)[1] == [where]
