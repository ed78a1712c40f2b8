"""What an operator has stopped. Each function is a part of a caller's transaction, and whoever changes something
raises the registry's version in it: that is what replicas watch.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import delete, select

from gateway.store.database import Session, insert
from gateway.store.schema import stops


class StopScope(StrEnum):
    """What is stopped: all of a tenant, or everything of one agent, tool or vendor."""

    TENANT = "tenant"
    AGENT = "agent"
    TOOL = "tool"
    VENDOR = "vendor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One thing that is stopped."""

    scope: StopScope
    name: str
    """Empty for the tenant."""
    reason: str
    set_by: str
    set_at: datetime


async def every(session: Session) -> tuple[Stop, ...]:
    """All that is stopped in this tenant, by scope and name."""
    columns = (stops.c.scope, stops.c.name, stops.c.reason, stops.c.set_by, stops.c.set_at)
    where = stops.c.tenant == session.tenant
    found = await session.execute(select(*columns).where(where).order_by(stops.c.scope, stops.c.name))
    return tuple(
        Stop(scope=StopScope(row.scope), name=row.name, reason=row.reason, set_by=row.set_by, set_at=row.set_at)
        for row in found
    )


async def put(session: Session, stop: Stop) -> None:
    """It is stopped, for this reason; whatever was said of it before."""
    said = {"reason": stop.reason, "set_by": stop.set_by, "set_at": stop.set_at}
    row = {"tenant": session.tenant, "scope": stop.scope.value, "name": stop.name} | said
    keys = [stops.c.tenant, stops.c.scope, stops.c.name]
    await session.execute(
        insert(stops, session.dialect).values(row).on_conflict_do_update(index_elements=keys, set_=said)
    )


async def clear(session: Session, scope: StopScope, name: str) -> bool:
    """It is stopped no longer; False when it was not."""
    where = (stops.c.tenant == session.tenant, stops.c.scope == scope.value, stops.c.name == name)
    found = await session.execute(delete(stops).where(*where).returning(stops.c.name))
    return found.first() is not None
