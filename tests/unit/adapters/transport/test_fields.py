"""Arguments are read one by one, and all that is wrong is told at once."""

import re
from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.transport.fields import Fields, is_broken, is_date, is_odd

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


@pytest.mark.parametrize(
    ("text", "broken", "odd"),
    [
        ("Grüße 1", False, False),
        ("a\nb", True, True),
        ("a\u2028b", True, True),
        ("\ud800", True, True),
        ("a\u202eb", False, True),
        ("a\u200bb", False, True),
    ],
)
def test_characters_that_nobody_sees(text: str, *, broken: bool, odd: bool) -> None:
    """Those that break a line or cannot be sent, and those that only hide how it reads."""
    assert (is_broken(text), is_odd(text)) == (broken, odd)


def test_an_argument_that_was_not_given_has_its_default() -> None:
    """Null as well; what is given stays, even when it is false."""
    fields = Fields({"a": None, "b": False})
    assert [fields.value("a"), fields.value("a", 3), fields.value("b", True), fields.value("c", "x")] == [
        None,
        3,
        False,
        "x",
    ]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (" as it stands ", []),
        (" ", ["blank"]),
        ("a\nb", ["characters"]),
        ("a\u2029", ["characters"]),
        ("\0", ["characters"]),
    ],
)
def test_a_line_is_one_line(text: str, rules: list[str]) -> None:
    """Told by its place."""
    fields = Fields({})
    assert fields.one_line(text, "/steps/1") == text
    fields.issue("/end", "end", "End.")
    assert [(path, rule) for path, rule, _ in issues(fields)[:-1]] == [("/steps/1", rule) for rule in rules]


@pytest.mark.parametrize(
    ("given", "moment", "rules"),
    [
        ({}, None, []),
        ({"at": "2026-05-31T09:00:00+02:00"}, "2026-05-31T07:00:00.000+00:00", []),
        ({"at": "2026-05-31T09:00:00.1234Z"}, "2026-05-31T09:00:00.123+00:00", []),
        ({"at": "2026-05-31T09:00:00"}, None, ["date_time"]),
        ({"at": "0001-01-01T00:00:00+14:00"}, None, ["date_time"]),
        ({"at": "now"}, None, ["date_time"]),
    ],
)
def test_a_moment_has_an_offset(given: dict[str, Any], moment: str | None, rules: list[str]) -> None:
    """And comes out in UTC."""
    fields = Fields(given)
    assert fields.moment("at") == moment
    fields.issue("/end", "end", "End.")
    assert [rule for _, rule, _ in issues(fields)[:-1]] == rules


def test_a_day_is_one_that_there_is() -> None:
    """In one form of the many that ISO 8601 has."""
    texts = ("2026-02-28", "2026-02-30", "20260228", "2026-W09-6", "2026-02-28\n", "٢٠٢٦-02-28")
    assert [is_date(text) for text in texts] == [True, False, False, False, False, False]
