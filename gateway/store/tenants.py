"""Whose rows there are."""

from sqlalchemy import select

from gateway.store.database import Session
from gateway.store.schema import tenants


async def known(session: Session) -> list[str]:
    """Every tenant that has rows, by name. A transaction of nobody may ask."""
    found = await session.execute(select(tenants.c.tenant).order_by(tenants.c.tenant))
    return [row.tenant for row in found]
