"""What all agents of a tenant share."""

from typing import Any

import pydantic
import pytest

from adapters.base import SideEffect
from gateway.rows import Allowance
from gateway.settings.budgets import TenantBudget

GOOD = {"tenant": "acme", "unit": "EUR", "limit": 100_000, "per": "day"}


def test_it_counts_for_the_tenant_over_its_window() -> None:
    """Money is a budget."""
    want = Allowance(unit="EUR", limit=100_000, share="tenant", seconds=86400)
    assert TenantBudget.model_validate(GOOD).allowance == want


def test_calls_of_some_tools_are_a_cap() -> None:
    """By name, and by what they do."""
    row = GOOD | {"unit": "calls", "per": "total", "tools": ("mail_send",), "side_effect": "send"}
    want = Allowance(
        unit="calls",
        limit=100_000,
        share="tenant",
        tools=frozenset({"mail_send"}),
        side_effect=SideEffect.SEND,
        is_cap=True,
    )
    assert TenantBudget.model_validate(row).allowance == want


@pytest.mark.parametrize(
    "change",
    [
        {"per": "run"},
        {"per": "week"},
        {"limit": -1},
        {"limit": 1.5},
        {"unit": "Euro"},
        {"tenant": ""},
        {"scope": "agent"},
    ],
)
def test_a_wrong_value_is_an_error(change: dict[str, Any]) -> None:
    """A tenant has no run of its own."""
    with pytest.raises(pydantic.ValidationError):
        TenantBudget.model_validate(GOOD | change)
