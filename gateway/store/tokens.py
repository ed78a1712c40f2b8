"""The rows of access tokens, and the leases of those who ask for new ones. Each function is a part of a caller's
transaction.

A lease is a row's, and not a session's: behind PgBouncer a session is the next client's. Whoever takes one writes
beside it when it ends, so that one of a replica that was killed is over by itself.
"""

import functools
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Executable, bindparam, or_, select, update

from gateway.store.database import Session, insert
from gateway.store.schema import access_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """What is kept of one account. `version` is how often that was changed; a lease is no change of it."""

    sealed: bytes | None = field(repr=False)
    expires_at: datetime | None
    is_owed: bool
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is to be kept from now on."""

    sealed: bytes = field(repr=False)
    expires_at: datetime
    is_owed: bool


async def find(session: Session, connection: str) -> TokenRow | None:
    """What is kept of the account behind this connection."""
    row = (await session.execute(_FIND, {"at_tenant": session.tenant, "at_connection": connection})).first()
    return None if row is None else TokenRow(**row._mapping)  # noqa: SLF001 - public, named so as to be no column


async def take(session: Session, connection: str, holder: str, *, now: datetime, until: datetime) -> TokenRow | None:
    """What is kept, when the lease is the holder's from now on; None while it is somebody else's."""
    values = {
        "tenant": session.tenant,
        "connection": connection,
        "holder": holder,
        "lease_until": until,
        "is_owed": False,
        "version": 0,
        "moment": now,
    }
    row = (await session.execute(_taking(session.dialect), values)).first()
    return None if row is None else TokenRow(**row._mapping)  # noqa: SLF001 - as above


async def keep(session: Session, connection: str, content: Content, *, after: int) -> bool:
    """This is what is kept, when that was of version `after`. False when somebody changed it meanwhile."""
    values = {
        "at_tenant": session.tenant,
        "at_connection": connection,
        "after": after,
        "sealed_now": content.sealed,
        "expires_now": content.expires_at,
        "owed_now": content.is_owed,
        "next": after + 1,
    }
    return bool((await session.execute(_KEEP, values)).rowcount)


async def release(session: Session, connection: str, holder: str) -> None:
    """The lease is nobody's, if it still was the holder's."""
    values = {"at_tenant": session.tenant, "at_connection": connection, "at_holder": holder}
    await session.execute(_RELEASE, values)


# Made once: putting one together costs as much as a round trip.
_ROW = access_tokens.c
_COLUMNS = (_ROW.sealed, _ROW.expires_at, _ROW.is_owed, _ROW.version)
_OURS = (_ROW.tenant == bindparam("at_tenant"), _ROW.connection == bindparam("at_connection"))
_FIND = select(*_COLUMNS).where(*_OURS)
_KEEP = (
    update(access_tokens)
    .where(*_OURS, _ROW.version == bindparam("after"))
    .values(
        sealed=bindparam("sealed_now"),
        expires_at=bindparam("expires_now"),
        is_owed=bindparam("owed_now"),
        version=bindparam("next"),
    )
)
_RELEASE = (
    update(access_tokens).where(*_OURS, _ROW.holder == bindparam("at_holder")).values(holder=None, lease_until=None)
)


@functools.cache
def _taking(dialect: str) -> Executable:
    """Takes a lease that is nobody's, over, or the holder's already."""
    named = ("tenant", "connection", "holder", "lease_until", "is_owed", "version")
    made = insert(access_tokens, dialect).values({name: bindparam(name) for name in named})
    return made.on_conflict_do_update(
        index_elements=[_ROW.tenant, _ROW.connection],
        set_={"holder": made.excluded.holder, "lease_until": made.excluded.lease_until},
        where=or_(_ROW.holder.is_(None), _ROW.holder == made.excluded.holder, _ROW.lease_until < bindparam("moment")),
    ).returning(*_COLUMNS)
