"""What a gateway does again and again beside the calls: leases, debts, what others left behind."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from adapters.base import Clock
from gateway.background import end
from gateway.errors import Refusal
from gateway.store.failures import StoreDown, StoreRefused
from gateway.telemetry import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Something to do every so many seconds."""

    name: str
    work: Callable[[], Awaitable[object]] = field(repr=False)
    every_seconds: float = 1.0


async def for_each(tenants: Iterable[str], work: Callable[[str], Awaitable[object]]) -> None:
    """Do it for every tenant: what fails for one is no other's trouble. Raises the first failure in the end."""
    failures: list[Exception] = []
    for tenant in tenants:
        try:
            await work(tenant)
        except Exception as failure:  # noqa: BLE001 - raised below
            failures.append(failure)
    if failures:
        raise failures[0]


class Keeper:
    """Does chores, each by itself: one that hangs holds up no other."""

    def __init__(self, chores: Iterable[Chore], *, clock: Clock, log: Log) -> None:
        self._chores = tuple(chores)
        self._clock = clock
        self._log = log
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Do each from now on."""
        self._tasks = [asyncio.create_task(self._again(chore), name=f"chore-{chore.name}") for chore in self._chores]

    async def stop(self) -> None:
        """No more; what is being done is broken off."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            await end(task)

    async def _again(self, chore: Chore) -> None:
        while True:
            await self._clock.sleep(chore.every_seconds)
            try:
                await chore.work()
            except (StoreDown, StoreRefused, Refusal) as failure:
                self._log.limited("chore_waits", component=chore.name, why=str(failure))
            except Exception as error:  # noqa: BLE001 - a chore that failed once is done again
                self._log.failure("chore_failed", error, component=chore.name)
