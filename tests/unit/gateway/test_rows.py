"""The rows of the registry are frozen data and hide what must not be printed."""

import dataclasses

import pytest
from fakes import rows

from adapters.base import SideEffect


@pytest.mark.parametrize(
    ("side_effect", "want"), [(SideEffect.READ, False), (SideEffect.WRITE, True), (SideEffect.SEND, True)]
)
def test_what_has_an_effect(side_effect: SideEffect, want: bool) -> None:
    """Everything but a read."""
    assert rows.tool(side_effect=side_effect).has_effect is want


def test_rows_cannot_be_changed() -> None:
    """Not even by accident."""
    for row in (rows.tool(), rows.agent(), rows.connection()):
        with pytest.raises(dataclasses.FrozenInstanceError):
            row.name = "other"


def test_policy_json_takes_no_part_in_equality_or_print() -> None:
    """Two rows that say the same are equal; the bytes are a cache."""
    assert rows.tool(policy_json=b"1") == rows.tool(policy_json=b"2")
    assert "policy_json" not in repr(rows.tool())
