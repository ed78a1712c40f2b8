"""Marks by which what was written is found again."""

import pytest

from adapters.github.marks import has_mark, has_trailer, holds_mark, with_mark, with_trailer, without_mark


@pytest.mark.parametrize(
    "body", [None, "", "Text.", "Text.\n\n<!-- a comment -->", "```\nnever closed", "<!-- never closed"]
)
def test_a_body_is_known_by_its_mark_alone(body: str | None) -> None:
    """Whatever stands before it, and whatever people add after it."""
    written = with_mark(body, "eff-1")
    assert has_mark(written, "eff-1")
    assert has_mark(written + "\r\n", "eff-1")
    assert not has_mark(written, "eff-2")
    assert has_mark(written + "\nand more", "eff-1")
    assert not has_mark(body, "eff-1")


def test_a_mark_is_not_the_effects_id_and_nobody_sees_it() -> None:
    """It is an HTML comment with a digest."""
    written = with_mark("Text.", "eff-1")
    assert "eff-1" not in written
    assert written.endswith(" -->")
    assert without_mark(written) == "Text."
    assert without_mark("Text. <!-- other -->") == "Text. <!-- other -->"
    assert without_mark(f"{written}\n\nAnd more. <!-- other -->") == "Text.\n\nAnd more. <!-- other -->"


def test_a_body_that_is_no_text_has_no_mark() -> None:
    """Whatever a vendor answers."""
    answers: tuple[object, ...] = (None, 7, [], {})
    assert not any(has_mark(body, "eff-1") or has_trailer(body, "eff-1") for body in answers)


def test_a_trailer_begins_a_paragraph_or_joins_those_that_are_there() -> None:
    """So that Git reads all of them."""
    plain = with_trailer("Keep the cart", "eff-1")
    signed = with_trailer("Keep the cart\n\nFor all.\n\nCo-authored-by: Ann <ann@corp.example>", "eff-1")
    assert plain.splitlines()[1] == ""
    assert signed.splitlines()[-2].startswith("Co-authored-by: ")
    assert with_trailer("Fix: the cart", "eff-1").splitlines()[1] == ""


def test_a_trailer_is_found_wherever_a_squash_has_put_it() -> None:
    """And no other's is."""
    message = f"Squashed\n\n* {with_trailer('One', 'eff-1')}\n\n* Two\n\nTwo."
    assert has_trailer(message, "eff-1")
    assert not has_trailer(message, "eff-2")


def test_an_agent_cannot_write_a_mark() -> None:
    """Neither kind, in any case."""
    assert holds_mark("<!-- Tollhouse-Effect: 00 -->")
    assert holds_mark("x\ntollhouse-effect: 00")
    assert not holds_mark("the tollhouse-effect is a thing")
