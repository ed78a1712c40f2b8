"""Counters in the store: the same for every replica.

What became of a read may be found out while the store does not answer; it is then owed, and told by `mend`. What
never is told, because there is no more room or the process ends, is spent in the end: a limit may hold a little
earlier for it, and never later.
"""

import contextlib
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any

from adapters.base import Clock
from gateway.call import Charge
from gateway.errors import Reason, Refusal
from gateway.store import budgets as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused

MOST_OWED = 10_000
"""Effects of which the store has not heard the end."""
_Pay = Callable[[Session], Coroutine[Any, Any, None]]


class _TooMuch(Exception):  # noqa: N818 - it undoes a transaction, and is told as a refusal
    def __init__(self, charge: Charge) -> None:
        super().__init__()
        self.charge = charge


class StoreBudget:
    """`Budget` over a database."""

    def __init__(self, database: Database, *, clock: Clock, most_owed: int = MOST_OWED) -> None:
        self._database = database
        self._clock = clock
        self._most_owed = most_owed
        self._debts: dict[tuple[str, str], _Pay] = {}

    @property
    def owed(self) -> int:
        """How many effects the store has not heard the end of."""
        return len(self._debts)

    async def reserve(self, tenant: str, effect_id: str, charges: Sequence[Charge]) -> None:
        """Every charge is held for the effect, or none is. Nothing is asked of the store when there is none."""
        if not charges:
            return
        now = self._clock.now()
        try:
            await self._reserve(tenant, effect_id, charges, moment_of(now))
        except _TooMuch as stop:
            raise stop.charge.refusal(now) from stop
        except StoreRefused as refused:
            raise _unavailable() from refused
        except StoreDown as down:
            self._owe(tenant, effect_id, lambda session: rows.undo(session, effect_id, charges))
            raise _unavailable(down) from down
        except BaseException:  # a cancelled caller: the store may have done it all the same
            self._owe(tenant, effect_id, lambda session: rows.undo(session, effect_id, charges))
            raise

    async def settle(self, tenant: str, effect_id: str) -> None:
        """What the effect holds is spent."""
        await self._tell(tenant, effect_id, lambda session: rows.settle(session, effect_id))

    async def release(self, tenant: str, effect_id: str) -> None:
        """What the effect holds is free again."""
        await self._tell(tenant, effect_id, lambda session: rows.release(session, effect_id))

    async def mend(self) -> None:
        """The store knows what it is owed. Call it every second or so. Raises `StoreDown`; the rest is owed still."""
        for tenant, effect_id in tuple(self._debts):
            await self._pay(tenant, effect_id)

    async def _reserve(self, tenant: str, effect_id: str, charges: Sequence[Charge], now: datetime) -> None:
        """Raises `_TooMuch`, which undoes what was reserved before."""

        async def reserved(session: Session) -> None:
            too_much = await rows.reserve(session, effect_id, charges, now)
            if too_much is not None:
                raise _TooMuch(too_much)

        await self._database.run(tenant, reserved)

    async def _tell(self, tenant: str, effect_id: str, pay: _Pay) -> None:
        self._owe(tenant, effect_id, pay)
        try:
            await self._pay(tenant, effect_id)
        except StoreDown:
            return  # it is owed

    def _owe(self, tenant: str, effect_id: str, pay: _Pay) -> None:
        if len(self._debts) >= self._most_owed:
            del self._debts[next(iter(self._debts))]
        self._debts[tenant, effect_id] = pay

    async def _pay(self, tenant: str, effect_id: str) -> None:
        """Raises `StoreDown`; it is owed still. What the store refuses to hear is not asked of it again."""
        pay = self._debts.get((tenant, effect_id))
        if pay is None:
            return
        with contextlib.suppress(StoreRefused):
            await self._database.run(tenant, pay)
        if self._debts.get((tenant, effect_id)) is pay:
            del self._debts[tenant, effect_id]


def _unavailable(down: StoreDown | None = None) -> Refusal:
    return Refusal(
        Reason.STORE_UNAVAILABLE,
        "What this call takes of a budget cannot be counted now, and nothing was done. Try again later.",
        fault=None if down is None else down.fault,
    )
