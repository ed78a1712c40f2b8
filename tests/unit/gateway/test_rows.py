"""The rows of the registry are frozen data and hide what must not be printed."""

import dataclasses
import re

import pytest
from fakes import rows

from adapters.base import SideEffect
from gateway import rows as rows_module


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


@pytest.mark.parametrize(
    ("window", "want"), [("total", None), ("day", 86400), ("hour", 3600), ("minute", 60), ("1s", 1), ("600s", 600)]
)
def test_a_window_lasts_as_long_as_it_says(window: str, want: int | None) -> None:
    """In seconds; for ever is no time."""
    assert re.match(rows_module.WINDOW, window)
    assert rows_module.window_seconds(window) == want


@pytest.mark.parametrize("window", ["", "0s", "5", "5m", "week", "run", "day ", "٣s", "1s\n"])
def test_no_other_window_is_taken(window: str) -> None:
    """As a row writes it: what nobody reads the same is no window."""
    assert not re.fullmatch(rows_module.WINDOW, window)


@pytest.mark.parametrize(("unit", "want"), [("EUR", True), ("recipients", False)])
def test_money_is_told_by_its_unit(unit: str, want: bool) -> None:
    """A currency is written in capitals."""
    assert rows_module.Price(unit=unit).is_money is want
