"""Runs what people have approved: at once when the last of them agrees, and later what nobody has run.

However many gateways want to run one call at once, the claim of its key and the use of its approval are one
transaction that one of them gets done. The others are told so and leave it at that.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from adapters.base import Clock
from gateway.approvals.base import Approved, Executions
from gateway.background import end
from gateway.call import Answer, Outcome, Pending
from gateway.errors import Refusal
from gateway.telemetry import Log

AT_ONCE = 16
"""Approved calls that are carried out at once; more wait their turn."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""How long a call that something stopped which may be over soon rests before it is tried again."""
FORGET_SECONDS = 600.0
"""After how long one that is not tried again is no longer remembered: its approval is over, or used."""
DRAIN_SECONDS = 10.0
MOST_OWED = 256

_Place = tuple[str, str]
"""Tenant and approval."""


@dataclass(frozen=True, slots=True)
class _Rest:
    until: float
    seconds: float


class Executor:
    """Runs approved calls in the background, each once. Use it on one loop."""

    def __init__(
        self, execute: Callable[[Approved], Awaitable[Answer]], approvals: Executions, *, clock: Clock, log: Log
    ) -> None:
        self._execute = execute
        self._approvals = approvals
        self._clock = clock
        self._log = log
        self._running: dict[_Place, asyncio.Task[None]] = {}
        self._rests: dict[_Place, _Rest] = {}
        self._owed: dict[_Place, tuple[Approved, Outcome]] = {}
        """What the store has not heard yet; beyond the most that are held it learns it from the keys."""
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._is_stopping = False

    def drain(self) -> None:
        """Begin no more. Those at work go on; what was approved and did not begin is another gateway's."""
        self._is_stopping = True

    def soon(self, tenant: str, approval_id: str) -> None:
        """Run this approved call now, in the background. Harmless when it runs already, has run, or may not."""
        place = (tenant, approval_id)
        if self._is_stopping or place in self._running or place in self._owed:
            return
        task = asyncio.create_task(self._run(place), name=f"approved call {approval_id}")
        self._running[place] = task
        task.add_done_callback(lambda _: self._running.pop(place, None))

    async def judge(self, edited: Approved) -> Answer:
        """What policy makes of a call that a person has edited: it is parked anew, or stopped. Nothing is carried out.
        Raises `Refusal` when there was no such call.
        """
        return await self._execute(edited)

    async def sweep(self, tenants: Iterable[str]) -> None:
        """Tell what is owed, tidy up, and run what was approved and nobody has run. Call it every second or so.
        Never raises.
        """
        for tenant in tenants:
            await self._pay(tenant)
            try:
                unused = await self._approvals.tidy(tenant)
            except Refusal as refusal:
                self._log.limited("approvals_unavailable", tenant=tenant, fault=refusal.fault or "")
                continue
            except Exception as error:  # noqa: BLE001 - the other tenants have their turn all the same
                self._log.failure("approvals_failed", error, tenant=tenant)
                continue
            now = self._clock.monotonic()
            self._rests = {place: rest for place, rest in self._rests.items() if now < rest.until + FORGET_SECONDS}
            for approval_id in unused:
                if self._rests.get((tenant, approval_id), _Rest(now, 0)).until <= now:
                    self.soon(tenant, approval_id)

    async def stop(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Begin no more, and return when those that run have ended: by themselves within this time, or cut off."""
        self.drain()
        tasks = tuple(self._running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=drain_seconds)
        for task in tasks:
            await end(task)

    async def _run(self, place: _Place) -> None:
        try:
            async with self._turns:
                if self._is_stopping:
                    return
                approved = await self._approvals.approved(*place)
                if approved is not None:
                    answer = await self._execute(approved)
                    await self._end(place, approved, answer.outcome)
                    if isinstance(answer.outcome, Pending):
                        # Parked anew, and approved already when enough of those who agreed count under its terms too.
                        self.soon(place[0], answer.outcome.approval_id)
                else:
                    self._rests.pop(place, None)
        except Refusal as refusal:
            self._log.limited("approved_call_waits", tenant=place[0], reason=refusal.reason.value)
            self._pause(place)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end all that is approved after it
            self._log.failure("approved_call_failed", error, tenant=place[0])
            self._pause(place)

    async def _end(self, place: _Place, approved: Approved, outcome: Outcome) -> None:
        """The outcome is kept, or owed."""
        try:
            is_again = await self._approvals.ended(approved, outcome)
        except BaseException:
            if len(self._owed) < MOST_OWED:
                self._owed[place] = (approved, outcome)
            raise
        if is_again:
            self._pause(place)
        else:
            self._rests.pop(place, None)

    async def _pay(self, tenant: str) -> None:
        """The store hears what it is owed. Never raises: what it does not take is told again, in nobody's way."""
        for place in [each for each in self._owed if each[0] == tenant]:
            try:
                await self._approvals.ended(*self._owed[place])
            except Refusal as refusal:
                self._log.limited("approvals_unavailable", tenant=tenant, fault=refusal.fault or "")
            else:
                del self._owed[place]

    def _pause(self, place: _Place) -> None:
        last = self._rests.get(place)
        seconds = FIRST_PAUSE_SECONDS if last is None else min(2 * last.seconds, LONGEST_PAUSE_SECONDS)
        self._rests[place] = _Rest(self._clock.monotonic() + seconds, seconds)
