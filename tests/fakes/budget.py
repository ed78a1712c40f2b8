"""Counters in memory."""

from collections import defaultdict
from collections.abc import Sequence

from adapters.base import Clock, Fault
from gateway.call import Charge
from gateway.errors import Reason, Refusal

_Counter = tuple[str, str, str, str, str]


class DictBudget:
    """`Budget` of one process. While it `is_down` nothing is counted, and what it is told waits for `mend`."""

    def __init__(self, clock: Clock) -> None:
        self.is_down = False
        self.spent: defaultdict[_Counter, int] = defaultdict(int)
        self.reserved: defaultdict[_Counter, int] = defaultdict(int)
        self._clock = clock
        self._held: dict[tuple[str, str], list[tuple[_Counter, int]]] = {}
        self._owed: list[tuple[str, str, bool]] = []

    async def reserve(self, tenant: str, effect_id: str, charges: Sequence[Charge]) -> None:
        """All or nothing."""
        if charges and self.is_down:
            raise Refusal(Reason.STORE_UNAVAILABLE, "Cannot be counted now.", fault=Fault.REFUSED)
        held = [(_counter(tenant, charge), charge.amount) for charge in charges]
        for (counter, amount), charge in zip(held, charges, strict=True):
            if self.spent[counter] + self.reserved[counter] + amount > charge.limit:
                raise charge.refusal(self._clock.now())
        for counter, amount in held:
            self.reserved[counter] += amount
        self._held[tenant, effect_id] = held

    async def settle(self, tenant: str, effect_id: str) -> None:
        """It is spent."""
        await self._end(tenant, effect_id, is_spent=True)

    async def release(self, tenant: str, effect_id: str) -> None:
        """It is free."""
        await self._end(tenant, effect_id, is_spent=False)

    async def mend(self) -> None:
        """What it was told while it was down."""
        owed, self._owed = self._owed, []
        for tenant, effect_id, is_spent in owed:
            await self._end(tenant, effect_id, is_spent=is_spent)

    async def _end(self, tenant: str, effect_id: str, *, is_spent: bool) -> None:
        if self.is_down:
            self._owed.append((tenant, effect_id, is_spent))
            return
        for counter, amount in self._held.pop((tenant, effect_id), []):
            self.reserved[counter] -= amount
            self.spent[counter] += amount if is_spent else 0


def _counter(tenant: str, charge: Charge) -> _Counter:
    return tenant, charge.scope.value, charge.name, charge.unit, charge.period
