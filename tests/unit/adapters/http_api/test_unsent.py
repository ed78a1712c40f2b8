"""Whoever says or approves an argument must not think that it goes out when it does not."""

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.http_api.options import Issues, Part
from adapters.http_api.pointers import Tokens
from adapters.http_api.shapes import Shapes
from adapters.http_api.unsent import check_sent, left_out

NODE: Mapping[str, Any] = {"properties": {"next": {"$ref": "#/$defs/node"}, "word": {"type": "string"}}}
SCHEMA: Mapping[str, Any] = {
    "properties": {
        "filter": {"properties": {"name": {}, "age": {}}},
        "page": {"type": "integer"},
        "tags": {"type": "array", "items": {}},
        "chain": {"$ref": "#/$defs/node"},
    },
    "$defs": {"node": NODE},
}
ALL = [("chain",), ("filter",), ("page",), ("tags",)]


@pytest.mark.parametrize(
    ("sent", "want"),
    [
        ([], ALL),
        ([()], []),
        (ALL, []),
        ([("filter", "name"), *ALL[2:], ALL[0]], [("filter", "age")]),
        ([("tags", "0"), ("chain",), ("filter",), ("page",)], []),
        (
            [("chain", "next", "next", "word"), *ALL[1:]],
            [("chain", "next", "next", "next"), ("chain", "next", "word"), ("chain", "word")],
        ),
    ],
)
def test_what_is_left_out(sent: list[Tokens], want: list[Tokens]) -> None:
    """A pointer has all that is below it, and leaves out what is beside it."""
    assert left_out(Shapes(SCHEMA), sent) == want


def test_a_chain_without_end_is_followed_as_far_as_it_is_used() -> None:
    """And no further."""
    deep = ("chain", *["next"] * 200)
    assert len(left_out(Shapes(SCHEMA), [deep, *ALL[1:]])) == 200


@pytest.mark.parametrize(
    ("unsent", "want"),
    [
        (["/page", "/tags", "/chain"], []),
        ("/page", [("/unsent", "list")]),
        (
            [7, "/none", "/page", "/tags", "/chain", ""],
            [("/unsent/0", "pointer"), ("/unsent/1", "pointer"), ("/unsent/5", "pointer")],
        ),
        (["/filter", "/page", "/tags", "/chain"], [("/unsent/0", "sent")]),
        (["/filter/name", "/page", "/tags", "/chain"], [("/unsent/0", "sent")]),
        (["/page", "/tags"], [("", "unsent")]),
    ],
)
def test_what_a_row_calls_unsent_is(unsent: Any, want: list[tuple[str, str]]) -> None:
    """It is an argument, and it is not sent."""
    issues: Issues = []
    check_sent(Part({"unsent": unsent}, "", issues), Shapes(SCHEMA), [("filter",)])
    assert [(issue.path, issue.rule) for issue in issues] == want


def test_of_a_row_that_is_wrong_elsewhere_nothing_is_told() -> None:
    """What it sends is not known."""
    issues: Issues = []
    part = Part({}, "", issues)
    part.problem("body", "choice", "It is wrong.")
    check_sent(part, Shapes(SCHEMA), [])
    assert len(issues) == 1
