"""Charges, and what counters hold."""

from typing import Any

from sqlalchemy import select

from gateway.call import BudgetScope, Charge
from gateway.store.database import Session
from gateway.store.schema import budgets

_PLANTED = "helper"
"""A counter that `fakes.claims.put` puts there."""


def charge(**more: Any) -> Charge:
    """A charge of one call of mail on one day, changed as asked."""
    named = {"scope": BudgetScope.TOOL, "name": "mail", "unit": "calls", "period": "2026-01-01"}
    return Charge(**{"amount": 1, "limit": 10, "expires_at": None, "told": "Too much."} | named | more)


async def counters(session: Session) -> dict[str, tuple[int, int]]:
    """What is spent and what is reserved, by the counter's name."""
    row = budgets.c
    found = await session.execute(
        select(row.name, row.spent, row.reserved).where(row.tenant == session.tenant, row.name != _PLANTED)
    )
    return {name: (spent, reserved) for name, spent, reserved in found}
