"""Whatever a vendor puts in the place of what should be there."""

from typing import Any

import pytest

from adapters.transport.values import listed, mapping, mappings, part, word

ODD: tuple[Any, ...] = (None, True, 7, 1.5, "text", [], [1], {}, {"a": 1})
each_odd = pytest.mark.parametrize("value", ODD, ids=repr)


@each_odd
def test_what_is_none_of_a_kind_is_an_empty_one(value: Any) -> None:
    """Never an error, and never something of another kind."""
    raw = {"name": value}
    assert mapping(value) == part(raw, "name") == (value if isinstance(value, dict) else {})
    assert listed(value) == (value if isinstance(value, list) else [])
    assert word(raw, "name") == (value if isinstance(value, str) else "")


def test_what_is_not_there_is_empty() -> None:
    """As is what is null."""
    assert (part({}, "name"), word({}, "name")) == ({}, "")


@each_odd
def test_of_a_list_its_objects_are_taken(value: Any) -> None:
    """In their order."""
    assert mappings([{"a": 1}, value, {"b": 2}]) == [{"a": 1}, *([value] if isinstance(value, dict) else []), {"b": 2}]
    assert mappings(value) == []
