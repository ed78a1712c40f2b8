"""Arguments on their way to a server."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.mcp_upstream.preparation import MAX_LEVELS, prepare


def _deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_arguments_go_as_they_are() -> None:
    """Nothing is added, left out or changed."""
    arguments = {"a": [1, 2.5, True, None, {"é\u200b": "x\0y"}], "b": -(2**63), **_deep(MAX_LEVELS)}
    assert prepare(arguments) is arguments


@pytest.mark.parametrize(
    ("arguments", "path", "rule"),
    [
        ({"a": [{"b/c": "\ud800"}]}, "/a/0/b~1c", "characters"),
        ({"\udc00": 1}, "/?", "characters"),
        ({"n": 2**63}, "/n", "number"),
        ({"n": float("nan")}, "/n", "number"),
        ({"n": float("inf")}, "/n", "number"),
        ({"n": b"bytes"}, "/n", "json"),
    ],
    ids=ascii,
)
def test_what_cannot_be_sent_is_refused(arguments: dict[str, Any], path: str, rule: str) -> None:
    """With where it is."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare(arguments)
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [(path, rule)]


def test_everything_that_cannot_be_sent_is_told_at_once() -> None:
    """Not only the first."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare({"a": "\ud800", "b": 2**64})
    assert [issue.path for issue in caught.value.issues] == ["/a", "/b"]


def test_levels_have_a_bound() -> None:
    """Beyond it nothing is looked at."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare(_deep(MAX_LEVELS + 5))
    assert [(issue.path, issue.rule) for issue in caught.value.issues] == [("/a" * (MAX_LEVELS + 1), "depth")]
