"""A comment carries a mark that nobody sees."""

import pytest

from adapters.sentry.marks import holds_mark, is_marked, marked


def test_a_mark_is_a_line_that_markdown_does_not_show() -> None:
    """After an empty line, or it would belong to the paragraph before; and it does not tell the effect's id."""
    text = marked("Fixed", "effect-1")
    body, empty, mark = text.split("\n")
    assert (body, empty) == ("Fixed", "")
    assert mark.startswith("[//]: # (tollhouse ")
    assert "effect-1" not in text


def test_a_comment_is_marked_for_its_own_effect() -> None:
    """And for no other."""
    assert is_marked(marked("Fixed", "effect-1"), "effect-1")
    assert not is_marked(marked("Fixed", "effect-1"), "effect-2")


def test_an_agent_cannot_write_a_mark() -> None:
    """In any case."""
    assert holds_mark(marked("Fixed", "effect-1").upper())
    assert not holds_mark("The tollhouse (a gateway)")


@pytest.mark.parametrize("text", [None, 7, "", "Fixed", ["x"]])
def test_nothing_else_is_marked(text: object) -> None:
    """Whatever it is."""
    assert not is_marked(text, "effect-1")
