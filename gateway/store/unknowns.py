"""Effects of which nobody knows whether they happened: read, and settled. Each function is a part of a caller's
transaction.

A row is settled only while it is unknown: of many who settle one, exactly one does.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Executable, and_, bindparam, delete, func, literal_column, or_, select, update

from gateway.call import Standing
from gateway.errors import Code
from gateway.rows import Binding, Connection
from gateway.store import budgets
from gateway.store.calls import FINISHED, UNKNOWN
from gateway.store.database import Session
from gateway.store.schema import calls, idempotency

ARGUMENTS_PLACE = "arguments:"
"""Before the key: the place that an effect's canonical arguments are sealed for."""
DONE_OUTCOME = "ok"
NOT_DONE_OUTCOME = Code.UNAVAILABLE.value
"""What a call's row says once it is known: it was carried out, or nothing was done."""

After = tuple[datetime, str]
"""When the last of a page was claimed, and its call id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An effect that may have happened. `intent` is what its line would have told, as JSON; `arguments` are sealed,
    and there when somebody can be asked with them.
    """

    key: str = field(repr=False)
    call_id: str
    effect_id: str
    arguments_digest: str
    approval_id: str
    claimed_at: datetime
    intent: bytes = field(repr=False)
    arguments: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many there are, and when the oldest was claimed."""

    count: int
    oldest: datetime | None


def account_of(binding: Binding, connection: Connection) -> str:
    """`sha256:` and hex over all that says whom an effect was asked of. Whoever asks later has to ask the same: another
    account would say that nothing was done.
    """
    target = connection.target
    asked = {
        "adapter": binding.adapter,
        "operation": binding.operation,
        **({"made_of": dict(binding.options)} if binding.options else {}),
        "connection": connection.name,
        "vendor": connection.vendor,
        "hosts": target.hosts,
        "options": dict(target.options),
        "credential": connection.credential,
    }
    return f"sha256:{hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).hexdigest()}"


async def page(session: Session, *, after: After | None, most: int) -> list[Unknown]:
    """At most so many of those that come after, oldest first."""
    asked = select(*_COLUMNS).where(_UNKNOWN).order_by(_ROW.claimed_at, _ROW.call_id).limit(most)
    if after is not None:
        at, call_id = after
        asked = asked.where(or_(_ROW.claimed_at > at, and_(_ROW.claimed_at == at, _ROW.call_id > call_id)))
    return [_unknown(row) for row in await session.execute(asked, {"at_tenant": session.tenant})]


async def find(session: Session, call_id: str) -> Unknown | None:
    """The one of this call; None when there is none, or none any more."""
    asked = select(*_COLUMNS).where(_UNKNOWN, _ROW.call_id == call_id)
    row = (await session.execute(asked, {"at_tenant": session.tenant})).first()
    return None if row is None else _unknown(row)


async def askable(session: Session, most: int) -> list[str]:
    """The calls whose arguments are kept so that somebody can be asked, oldest first."""
    asked = select(_ROW.call_id).where(_UNKNOWN, _ROW.arguments.is_not(None)).order_by(_ROW.claimed_at).limit(most)
    return list((await session.execute(asked, {"at_tenant": session.tenant})).scalars())


async def tally(session: Session) -> Tally:
    """All of them, those that nobody can be asked about as well."""
    asked = select(func.count().label("number"), func.min(_ROW.claimed_at).label("oldest")).where(_UNKNOWN)
    row = (await session.execute(asked, {"at_tenant": session.tenant})).one()
    return Tally(count=row.number, oldest=row.oldest)


async def resolve_done(session: Session, key: str, call_id: str, now: datetime, until: datetime) -> bool:
    """It happened: the row says so until then, what it reserved is spent, and its calls are finished. False when
    somebody else has settled it, and then nothing is changed.
    """
    values = {"standing": Standing.DONE.value, "intent": None, "arguments": None}
    ended = {"settled_at": now, "expires_at": until}
    done = update(idempotency).where(_ONE).values(values | ended).returning(_ROW.effect_id)
    effect_id = await _settled(session, done, key, call_id)
    if effect_id is None:
        return False
    await budgets.settle(session, effect_id)
    await _finish_calls(session, effect_id, DONE_OUTCOME, now, until)
    return True


async def resolve_not_done(session: Session, key: str, call_id: str, now: datetime, until: datetime) -> bool:
    """It did not happen: the key is free again and what it reserved as well, and its calls are finished. False when
    somebody else has settled it, and then nothing is changed.
    """
    gone = delete(idempotency).where(_ONE).returning(_ROW.effect_id)
    effect_id = await _settled(session, gone, key, call_id)
    if effect_id is None:
        return False
    await budgets.release(session, effect_id)
    await _finish_calls(session, effect_id, NOT_DONE_OUTCOME, now, until)
    return True


async def _settled(session: Session, statement: Executable, key: str, call_id: str) -> str | None:
    """The effect's id when it was this that settled it."""
    where = {"at_tenant": session.tenant, "at_key": key, "at_call": call_id}
    effect_id: str | None = (await session.execute(statement, where)).scalar_one_or_none()
    return effect_id


async def _finish_calls(session: Session, effect_id: str, outcome: str, now: datetime, until: datetime) -> None:
    row = calls.c
    of_effect = (row.tenant == session.tenant, row.effect_id == effect_id, row.state == UNKNOWN)
    ended = {"state": FINISHED, "outcome": outcome, "arguments": None, "finished_at": now, "expires_at": until}
    await session.execute(update(calls).where(*of_effect).values(ended))


def _unknown(row: Any) -> Unknown:
    found = dict(row._mapping)  # noqa: SLF001 - public, named so as to be no column
    return Unknown(**found | {"approval_id": found["approval_id"] or ""})


_ROW = idempotency.c
_NAMES: Sequence[str] = tuple(Unknown.__dataclass_fields__)
_COLUMNS = tuple(_ROW[name] for name in _NAMES)
# Written out, for an index over these rows alone is used when the statement says the same.
_UNKNOWN = and_(_ROW.tenant == bindparam("at_tenant"), _ROW.standing == literal_column(f"'{Standing.UNKNOWN.value}'"))
_ONE = and_(_UNKNOWN, _ROW.key == bindparam("at_key"), _ROW.call_id == bindparam("at_call"))
