"""Texts that an agent writes and people read."""

import pytest

from adapters.base import ArgumentProblem
from adapters.github.texts import filled_text_of, line_of, mentions_in, text_of
from adapters.transport.fields import Fields


def test_a_line_has_no_blanks_around_it() -> None:
    """And may hold whatever can be printed."""
    fields = Fields({})
    assert line_of("  Der Korb vergisst 👩‍💻 ", "/t", fields) == "Der Korb vergisst 👩‍💻"
    line_of("x" * 256, "/t", fields)
    fields.checked({})


@pytest.mark.parametrize("text", ["", "   ", "a\nb", "a\rb", "a\0", "a\u2028b", "\ud800", "x" * 257])
def test_what_is_no_line_is_refused(text: str) -> None:
    """Nothing that would end it."""
    fields = Fields({})
    line_of(text, "/t", fields)
    with pytest.raises(ArgumentProblem):
        fields.checked({})


def test_a_text_has_one_kind_of_line_break() -> None:
    """Line feeds."""
    fields = Fields({})
    assert text_of("a\r\nb\rc\n", "/b", fields) == "a\nb\nc\n"
    text_of("x" * 60_000, "/b", fields)
    fields.checked({})


@pytest.mark.parametrize("text", ["a\0b", "\ud83d", "x" * 60_001, "<!-- tollhouse-effect: 0 -->"])
def test_a_text_that_cannot_be_kept_as_it_is_is_refused(text: str) -> None:
    """Nor may it look like the gateway's own mark."""
    fields = Fields({})
    text_of(text, "/b", fields)
    with pytest.raises(ArgumentProblem):
        fields.checked({})


def test_a_text_that_has_to_say_something_says_something() -> None:
    """Blanks are nothing."""
    fields = Fields({})
    filled_text_of(" \n ", "/b", fields)
    with pytest.raises(ArgumentProblem) as caught:
        fields.checked({})
    assert [issue.rule for issue in caught.value.issues] == ["empty"]


def test_who_is_mentioned_is_told() -> None:
    """People and teams, once each; an address of mail is nobody, nor is what stands in code."""
    assert mentions_in("@Ann, @acme/Web and @ann!", None, "mail a@b.example `@code` @-x @bob's") == [
        "acme/web",
        "ann",
        "bob",
    ]
