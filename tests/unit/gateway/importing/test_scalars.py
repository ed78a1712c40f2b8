"""Types, values and bounds, as far as they can be believed and checked."""

from typing import Any

import pytest

from gateway.arguments.schema import compile_schema
from gateway.importing import scalars
from gateway.importing.scalars import MAX_VALUES, Bounds, fits, is_plain, is_safe, types_of, values_of


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ({"type": "string"}, (["string"], False)),
        ({"type": ["string", "null", "string"]}, (["string"], True)),
        ({"type": "string", "nullable": True}, (["string"], True)),
        ({"type": "file"}, ([], False)),
        ({"enum": ["a", 1, None]}, (["string", "integer"], True)),
        ({"properties": {}}, (["object"], False)),
        ({"items": {}}, (["array"], False)),
        ({"pattern": "a"}, (["string"], False)),
        ({"minimum": 1}, (["number"], False)),
        ({}, ([], False)),
    ],
)
def test_types_are_said_or_implied(node: Any, expected: Any) -> None:
    """And null apart from them."""
    assert types_of(node) == expected


def test_values_are_plain_and_not_too_many() -> None:
    """Numbers that readers of JSON disagree about are no values, and true is not 1."""
    assert values_of({"enum": [1, True, "1", 1]}) == [1, True, "1"]
    many = [list(range(MAX_VALUES + 1)), ["x" * 990 + str(number) for number in range(50)]]
    for odd in ([2**60], [[1]], [float("inf")], ["x" * 2000], *many):
        assert values_of({"enum": odd}) == []
    assert is_plain(None)
    assert not is_plain({})
    assert not is_safe(True)


def test_a_value_fits_its_type() -> None:
    """An integer is a number, a truth is not."""
    assert fits(1, ["number"], takes_null=False)
    assert not fits(True, ["number"], takes_null=False)
    assert not fits(1.5, ["integer"], takes_null=False)
    assert fits(None, [], takes_null=True)


def test_bounds_that_contradict_or_say_nothing_are_left_out() -> None:
    """What is no length is none; what is no bound neither."""
    bounds = Bounds(compile_schema)
    assert bounds.of({"minLength": -1, "maxLength": "5"}, "string") == {}
    assert bounds.of({"minItems": 3, "maxItems": 2}, "array") == {}
    assert bounds.of({"minimum": True, "maximum": None, "multipleOf": 0}, "number") == {}
    assert bounds.of({"minimum": 1, "maximum": 2.5, "multipleOf": 0.5}, "number") == {
        "minimum": 1,
        "maximum": 2.5,
        "multipleOf": 0.5,
    }


def test_patterns_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many of them the others are left out: each takes its time to compile."""
    monkeypatch.setattr(scalars, "MAX_PATTERNS", 3)
    bounds = Bounds(compile_schema)
    found = [bounds.of({"pattern": f"^a{number}$"}, "string") for number in range(5)]
    assert [bool(one) for one in found] == [True, True, True, False, False]


def test_a_default_is_held_against_its_schema() -> None:
    """One that has a pattern is not: it would be compiled twice."""
    bounds = Bounds(compile_schema)
    assert bounds.is_valid({"type": "integer", "maximum": 5}, 5)
    assert not bounds.is_valid({"type": "integer", "maximum": 5}, 6)
    assert not bounds.is_valid({"type": "string", "pattern": "a"}, "a")
