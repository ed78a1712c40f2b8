"""A vendor's words become a few plain sentences, and no more than words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.importing.texts import cut, plain_text


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**Lists** all\n[repos](https://x/y).", "Lists all repos."),
        ("# Head\n\n> Note\n* one\n* two", "Head Note - one - two"),
        ("![logo](x.png) _Really_ *so*, snake_case_name", "Really so, snake_case_name"),
        ("a <br/> b <!-- hidden --> c &amp; d", "a b c & d"),
        ("```json\n{}\n```", "{}"),
        ("[text][ref] and \\[no link\\]", "text and [no link]"),
        ("zero\u200bwidth \u202eturned\u202c \x1b[31mred\x07", "zerowidth turned [31mred"),
        ("tag\U000e0041s", "tags"),
        ("   ", ""),
        (None, ""),
        (5, ""),
    ],
)
def test_markup_and_what_cannot_be_seen_is_gone(markdown: object, expected: str) -> None:
    """Words stay."""
    assert plain_text(markdown, most=200) == expected


def test_only_names_of_arguments_stand_in_backticks() -> None:
    """Whatever else is quoted so in the original: a model would take it for an argument."""
    text = "Give `owner` or `repo`, see `list-repos`, ``code`` and a stray ` tick."
    assert plain_text(text, most=200, names={"owner"}) == "Give `owner` or repo, see list-repos, code and a stray tick."


@given(text=st.text("`a b_.", max_size=60), names=st.sets(st.sampled_from(("a", "b", "ab", "_"))))
def test_no_other_name_is_ever_quoted(text: str, names: set[str]) -> None:
    """However the ticks stand."""
    found = plain_text(text, most=50, names=names)
    assert set(re.findall(r"`([A-Za-z_][A-Za-z0-9_]*)`", found)) <= names


@given(text=st.text(max_size=3000), most=st.integers(10, 300))
def test_the_text_is_one_line_of_bounded_length(text: str, most: int) -> None:
    """Which a terminal can show."""
    found = plain_text(text, most=most)
    assert len(found) <= most
    assert found == " ".join(found.split())
    assert found.isprintable()


def test_a_long_text_is_cut_at_a_sentence_or_a_word() -> None:
    """The ellipsis says so; half of a quoted name is not left."""
    assert cut("One sentence here. Another one that is long.", 25) == "One sentence here."
    assert cut("words and words and words", 16) == "words and words…"
    assert cut("see the `argument` now", 14) == "see the…"
    assert cut("x" * 50, 10) == "x" * 9 + "…"
