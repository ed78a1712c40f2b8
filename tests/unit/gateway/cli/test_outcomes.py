"""An outcome's colour says at a glance what it is."""

import pytest

from gateway.cli.outcomes import style_of
from gateway.errors import Code


@pytest.mark.parametrize(("word", "colour"), [("ok", "green"), ("replay", "green"), ("pending", "yellow")])
def test_what_is_no_refusal_is_not_red(word: str, colour: str) -> None:
    """Green is done, yellow is wait."""
    assert style_of(word) == colour


def test_every_code_has_a_style_that_is_not_green() -> None:
    """A refusal never looks like a success."""
    assert all(style_of(code) != "green" for code in Code)
    assert style_of("something new") == "red"
