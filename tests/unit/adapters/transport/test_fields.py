"""Arguments are read one by one, and all that is wrong is told at once."""

import re
from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.transport.fields import Fields

WORD = re.compile("[a-z]+")


def issues(fields: Fields) -> list[tuple[str, str, str]]:
    """Path, rule and sentence of everything that was noted."""
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    return [(issue.path, issue.rule, issue.message) for issue in caught.value.issues]


def test_what_is_right_comes_back() -> None:
    """And nothing is raised."""
    fields = Fields({"word": "abc", "limit": 5, "text": " hi "})
    prepared = {
        "word": fields.matching("word", WORD, "a word"),
        "other": fields.optional("other", WORD, "a word"),
        "limit": fields.limit(20, 100),
        "text": fields.readable("text", " hi "),
    }
    assert fields.checked(prepared) == {"word": "abc", "other": None, "limit": 5, "text": " hi "}


def test_everything_that_is_wrong_is_told_at_once() -> None:
    """In the order in which it was read."""
    fields = Fields({"word": "A1", "other": "7", "limit": 0})
    fields.matching("word", WORD, "a word")
    fields.optional("other", WORD, "a word")
    fields.limit(20, 100)
    fields.issue("/x/0", "odd", "It is odd.")
    assert issues(fields) == [
        ("/word", "format", "`word` must be a word."),
        ("/other", "format", "`other` must be a word."),
        ("/limit", "range", "`limit` must be from 1 to 100."),
        ("/x/0", "odd", "It is odd."),
    ]


@pytest.mark.parametrize(
    ("given", "limit"), [({}, 20), ({"limit": None}, 20), ({"limit": 1}, 1), ({"limit": 100}, 100)]
)
def test_a_limit_that_is_left_out_is_the_usual_one(given: dict[str, Any], limit: int) -> None:
    """Its bounds are allowed."""
    fields = Fields(given)
    assert fields.limit(20, 100) == limit
    fields.checked({})


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ["min_length"]),
        (" \n", ["min_length"]),
        ("a\0", ["characters"]),
        ("a\udfff", ["characters"]),
        ("\0", ["characters"]),
    ],
)
def test_what_cannot_be_read_or_sent(text: str, rules: list[str]) -> None:
    """Nothing, NUL, and halves of characters."""
    fields = Fields({})
    fields.readable("text", text)
    assert [rule for _, rule, _ in issues(fields)] == rules


def test_a_text_that_may_be_empty_must_be_sendable_all_the_same() -> None:
    """An empty search is one."""
    fields = Fields({})
    assert fields.sendable("query", "") == ""
    fields.checked({})
    fields.sendable("query", "\ud800")
    assert [path for path, _, _ in issues(fields)] == ["/query"]
