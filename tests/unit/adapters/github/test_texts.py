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
    """People and teams, once each; an address of mail is nobody."""
    assert mentions_in("@Ann, @acme/Web and @ann!", None, "mail a@b.example @-x @bob's") == ["acme/web", "ann", "bob"]
    assert mentions_in(None, "", "a@b.example") == []


@pytest.mark.parametrize(
    "text",
    [
        *("`@ann", "/@ann", "@@ann", "é@ann", "(@ann)", "\\@ann", "@ann.", "@ann@x", "*@ann*", "\u200b@ann"),
        *("&#64;ann", "&commat;ann", "&#x40;a&#110;n", "@<!-- -->ann", "@<b></b>ann", "x<i>@ann</i>"),
    ],
)
def test_no_way_of_writing_a_mention_hides_it(text: str) -> None:
    """GitHub looks for names in what it shows, and takes all but letters, digits and `_` before the @."""
    assert "ann" in mentions_in(text)


def test_accounts_that_a_company_manages_are_mentioned_by_their_whole_name() -> None:
    """It has an underscore in it."""
    assert mentions_in("@ann_corp and @acme/web_team.") == ["acme/web_team", "ann_corp"]
