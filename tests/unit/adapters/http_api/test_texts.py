"""A scalar has one text, and nothing else has any."""

from typing import Any

import pytest

from adapters.http_api.texts import text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("ä\0", "ä\0"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (9007199254740993, "9007199254740993"),
        (5.0, "5"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (1e300, "1e+300"),
    ],
)
def test_a_scalar_has_one_text(value: Any, text: str) -> None:
    """A whole number has no fraction, and a truth is spelt as JSON spells it."""
    assert text_of(value) == text


@pytest.mark.parametrize("value", [None, [], {}, ["a"], "\ud800", float("nan"), float("inf"), 2**64, b"x"])
def test_anything_else_has_none(value: Any) -> None:
    """Nor has half a character, or a number without end."""
    assert text_of(value) is None


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (-0.0, "0"),
        (7.0, "7"),
        (float(2**53), "9007199254740992"),
        (1e20, "100000000000000000000"),
        (-1e20, "-100000000000000000000"),
        (1e21, "1e+21"),
        (0.5, "0.5"),
        (2**53 - 1, "9007199254740991"),
    ],
)
def test_a_number_is_the_same_before_and_after_an_approval(value: float, want: str) -> None:
    """What was parked comes back in JSON's canonical form, which has no fraction where there is none to tell."""
    assert text_of(value) == want
