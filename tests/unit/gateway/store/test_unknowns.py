"""Whom an effect was asked of. The rows are tested on every database in `tests/contract/test_unknowns.py`."""

from typing import Any

import pytest
from fakes.unresolved import bank, pay_tool

from adapters.base import Target
from gateway.rows import Binding
from gateway.store.unknowns import account_of

USUAL = account_of(pay_tool().binding, bank())


def test_the_same_account_is_known_again() -> None:
    """Rows that were loaded anew, with another version, scopes or rate, are asked all the same."""
    again = account_of(pay_tool(version="2").binding, bank(scopes=("pay",), policy_json=b"{}"))
    assert again == USUAL
    assert USUAL.startswith("sha256:")


@pytest.mark.parametrize(
    "binding",
    [
        Binding(adapter="other", operation="pay", connection="bank"),
        Binding(adapter="ledger", operation="post", connection="bank"),
    ],
)
def test_another_operation_is_another_account(binding: Binding) -> None:
    """It would say of its own effects alone what became of them."""
    assert account_of(binding, bank()) != USUAL


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "bank2"},
        {"vendor": "other"},
        {"credential": "env:OTHER"},
        {"target": Target(name="bank", hosts=("other.example",), options={"account": "17"})},
        {"target": Target(name="bank", hosts=("pay.example",), options={"account": "18"})},
    ],
)
def test_another_connection_is_another_account(changes: dict[str, Any]) -> None:
    """Whatever of it was changed: it would truly say that nothing was done there."""
    assert account_of(pay_tool().binding, bank(**changes)) != USUAL


def test_the_account_tells_nothing_of_the_connection() -> None:
    """It stands in a row in the clear."""
    assert "pay" not in USUAL
