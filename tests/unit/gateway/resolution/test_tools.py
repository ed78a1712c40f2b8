"""Whom to ask, as the registry has it today."""

from typing import Any

import pytest
from fakes.ledger import LedgerAdapter
from fakes.unresolved import bank, catalogue_of, pay_tool

from gateway.registry.catalogue import Catalogue
from gateway.resolution.tools import finder
from gateway.rows import Binding


def _catalogue(**changes: Any) -> Catalogue:
    return catalogue_of(**{"tools": (pay_tool(),), "connections": (bank(),)} | changes)


def test_a_tool_is_found_whoever_may_see_it() -> None:
    """No agent's row names it here."""
    vendor = finder(_catalogue, {"ledger": LedgerAdapter()})("acme", "pay")
    assert vendor is not None
    assert (vendor.tool.name, vendor.connection.name, vendor.operation.name) == ("pay", "bank", "pay")


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": ()},
        {"connections": ()},
        {"connections": (bank(tenant="other"),)},
        {"tools": (pay_tool(binding=Binding(adapter="gone", operation="pay", connection="bank")),)},
        {"tools": (pay_tool(binding=Binding(adapter="ledger", operation="gone", connection="bank")),)},
    ],
)
def test_what_is_not_there_any_more_cannot_be_asked(changes: dict[str, Any]) -> None:
    """The tool, its connection for this tenant, the adapter or the operation."""
    assert finder(lambda: _catalogue(**changes), {"ledger": LedgerAdapter()})("acme", "pay") is None


def test_the_registry_is_read_at_every_question() -> None:
    """A change holds at once."""
    there = [_catalogue(tools=()), _catalogue()]
    find = finder(lambda: there.pop(0), {"ledger": LedgerAdapter()})
    assert find("acme", "pay") is None
    assert find("acme", "pay") is not None
