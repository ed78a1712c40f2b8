"""How much work a value's errors can be is known before they are asked for."""

from typing import Any

import pytest

from gateway.arguments.effort import Effort, size_and_depth

NODE = {"$ref": "#/$defs/node"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, (1, 0)), ({}, (1, 0)), ([[]], (2, 1)), ({"a": {"b": [1, 2]}, "c": 3}, (6, 3))],
)
def test_parts_and_levels_are_counted(value: Any, expected: tuple[int, int]) -> None:
    """The value itself is a part; a scalar has no level below it."""
    assert size_and_depth(value) == expected


def test_a_plain_schema_costs_the_same_at_any_depth() -> None:
    """It has no more to say of a value that is deeper than itself."""
    effort = Effort({"properties": {"a": {"type": "string"}, "b": {"items": {"type": "integer"}}}})
    assert effort.per_part(2) == effort.per_part(60) == 4 * effort.per_part(0)


def test_a_schema_that_branches_into_itself_doubles_with_every_level() -> None:
    """Sixty levels are more than anybody can wait for."""
    branch = {"properties": {"child": NODE}}
    effort = Effort({"properties": {"a": NODE}, "$defs": {"node": {"anyOf": [branch, branch]}}})
    assert effort.per_part(11) > 2 * effort.per_part(10) > 0
    assert effort.per_part(60) > 2**59


def test_a_long_enum_counts_its_values() -> None:
    """Every error would list them."""
    assert Effort({"enum": list(range(5000))}).per_part(0) > 5000


@pytest.mark.parametrize("definition", [{"allOf": [NODE]}, {"$ref": "#/$defs/node"}, {"not": {"anyOf": [NODE, NODE]}}])
def test_a_ring_that_never_goes_down_ends(definition: dict[str, Any]) -> None:
    """It judges the same value by the same schema."""
    assert Effort({"properties": {"a": NODE}, "$defs": {"node": definition}}).per_part(3) > 0


def test_a_chain_of_references_without_end_is_beyond_any_bound() -> None:
    """It is not followed to the end of the stack."""
    chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(2000)}
    assert Effort({"$ref": "#/$defs/d0", "$defs": chain}).per_part(0) > 2**59
