"""How the accounts behind connections have answered. A part of a caller's transaction. Many replicas tell of one
account: what is newer holds. Nothing of this is a change of the registry.
"""

from datetime import datetime

from sqlalchemy import Column, ColumnElement, and_, case, false, or_, update

from gateway.store.database import Session
from gateway.store.schema import connections

_ROW = connections.c


async def succeeded(session: Session, name: str, at: datetime) -> None:
    """The account answered. Nothing when there is no such connection, or something newer is known."""
    needs = case((_is_older(_ROW.last_error_at, at), false()), else_=_ROW.needs_authorisation)
    await session.execute(
        update(connections)
        .where(_is(session, name), _is_older(_ROW.last_success_at, at))
        .values(last_success_at=at, needs_authorisation=needs)
    )


async def failed(session: Session, name: str, at: datetime, error: str, *, needs_authorisation: bool) -> None:
    """The account failed, with an error of this class."""
    needs = case((_is_older(_ROW.last_success_at, at), needs_authorisation), else_=_ROW.needs_authorisation)
    await session.execute(
        update(connections)
        .where(_is(session, name), _is_older(_ROW.last_error_at, at))
        .values(last_error_at=at, last_error=error, needs_authorisation=needs)
    )


def _is(session: Session, name: str) -> ColumnElement[bool]:
    return and_(_ROW.tenant == session.tenant, _ROW.name == name)


def _is_older(column: "Column[datetime]", at: datetime) -> ColumnElement[bool]:
    return or_(column.is_(None), column <= at)
