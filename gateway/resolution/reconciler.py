"""The gateway's own way to find out: it asks vendors about unknown outcomes, again and again, and never guesses."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from adapters.base import Clock, Finding, Happened
from gateway.background import end
from gateway.call import CallerKind, Principal
from gateway.errors import Refused
from gateway.identity.principal import build_principal
from gateway.resolution.intent import read_intent
from gateway.resolution.schedule import At, Schedule
from gateway.resolution.settling import Settling
from gateway.resolution.vendors import Answered, Vendors
from gateway.settings.resolution import ResolutionSettings
from gateway.store import unknowns
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.tenants import known
from gateway.store.unknowns import Tally, Unknown
from gateway.telemetry import Log

MOST_WATCHED = 10_000
"""Of one tenant; younger ones wait until older ones are settled."""
_HOUR = 3600.0
_HAPPENED = {Finding.DONE: Happened.YES, Finding.NOT_DONE: Happened.NO}
_NOTES = {
    Happened.YES: "The vendor was asked, and says that it was done.",
    Happened.NO: "The vendor was asked, and says that it was not done.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unresolved:
    """How many outcomes are unknown over all tenants, as of the last look, and how old the oldest is."""

    count: int
    oldest_seconds: float
    """Since its claim; 0 when there is none."""


class Reconciler:
    """Looks for unknown outcomes of every tenant, and asks about those whose turn it is.

    Several gateways may each have one: asking twice is harmless, and one of them settles. `chance` returns numbers
    from 0 to 1.
    """

    def __init__(  # noqa: PLR0913 - each is a part of its own
        self,
        database: Database,
        vendors: Vendors,
        settling: Settling,
        *,
        settings: ResolutionSettings,
        clock: Clock,
        chance: Callable[[], float],
        log: Log,
    ) -> None:
        self._database = database
        self._vendors = vendors
        self._settling = settling
        self._settings = settings
        self._clock = clock
        self._log = log
        self._schedule = Schedule(chance)
        self._tallies: dict[str, Tally] = {}
        self._told_at: dict[str, float] = {}
        self._next_look = float("-inf")
        self._round: asyncio.Task[None] | None = None

    def tick(self) -> None:
        """Go on in the background, unless the last round is still at work. Call it every second or so."""
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._go_round())

    async def idle(self) -> None:
        """Return when the round at work is over."""
        if self._round is not None:
            await asyncio.wait((self._round,))

    async def stop(self) -> None:
        """Ask nobody any more. What is being settled is settled first. Harmless when nothing runs."""
        await end(self._round)

    def status(self) -> Unresolved:
        """How it stands. Asks nobody."""
        moments = [tally.oldest.timestamp() for tally in self._tallies.values() if tally.oldest is not None]
        age = max(0.0, self._clock.now() - min(moments)) if moments else 0.0
        return Unresolved(count=sum(tally.count for tally in self._tallies.values()), oldest_seconds=age)

    async def _go_round(self) -> None:
        """Never raises: whatever is wrong now may be right at the next tick."""
        try:
            now = self._clock.monotonic()
            if now >= self._next_look:
                self._next_look = now + self._settings.look_seconds
                await self._look()
            if self._settings.enabled:
                due = self._schedule.due(self._clock.monotonic(), self._settings.concurrent)
                await asyncio.gather(*map(self._turn, due))
        except (StoreDown, StoreRefused) as failure:
            self._log.limited("resolution_held_up", problem=str(failure))
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the reconciler
            self._log.failure("resolution_failed", error)

    async def _look(self) -> None:
        async with self._database.nobody() as session:
            tenants = await known(session)
        for tenant in tenants:
            async with self._database.tenant(tenant, is_read=True) as session:
                self._tallies[tenant] = await unknowns.tally(session)
                call_ids = await unknowns.askable(session, MOST_WATCHED) if self._tallies[tenant].count else []
            self._schedule.are(tenant, call_ids, self._clock.monotonic())
            self._tell_of_old(tenant, self._tallies[tenant])

    async def _turn(self, at: At) -> None:
        """Never raises: one that cannot be settled must not hold up the others."""
        self._schedule.asked(at, self._clock.monotonic())
        try:
            await self._resolve(at)
        except (StoreDown, StoreRefused, Refused) as failure:
            self._log.limited("resolution_held_up", tenant=at[0], call_id=at[1], problem=str(failure))
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the reconciler
            self._log.failure("resolution_failed", error, tenant=at[0], call_id=at[1])

    async def _resolve(self, at: At) -> None:
        """Ask about one, and settle it when the answer is certain."""
        tenant, call_id = at
        async with self._database.tenant(tenant, is_read=True) as session:
            unknown = await unknowns.find(session, call_id)
        if unknown is None:  # somebody else has settled it
            self._schedule.forget(at)
            return
        answered = self._believed(unknown, await self._vendors.ask(tenant, unknown))
        if answered.finding is Finding.STILL_UNKNOWN:
            self._log.limited("outcome_still_unknown", tenant=tenant, call_id=call_id, why=answered.why or "not_told")
            return
        await self._settle(tenant, unknown, _HAPPENED[answered.finding])
        self._schedule.forget(at)

    def _believed(self, unknown: Unknown, answered: Answered) -> Answered:
        """What a vendor has not done yet it may still do, while the request can be on its way."""
        age = self._clock.now() - unknown.claimed_at.timestamp()
        if answered.finding is Finding.NOT_DONE and age < self._settings.not_done_after_seconds:
            return Answered(Finding.STILL_UNKNOWN, "too_early")
        return answered

    async def _settle(self, tenant: str, unknown: Unknown, happened: Happened) -> None:
        if not await self._settling.settle(unknown, happened, by=gateway_of(tenant), note=_NOTES[happened]):
            return
        tool = read_intent(unknown.intent).tool
        self._log.event("outcome_resolved", tenant=tenant, call_id=unknown.call_id, tool=tool, state=happened.value)

    def _tell_of_old(self, tenant: str, tally: Tally) -> None:
        """An outcome that stays unknown needs a person."""
        now = self._clock.now()
        is_old = tally.oldest is not None and now - tally.oldest.timestamp() >= self._settings.tell_after_seconds
        if not is_old or now - self._told_at.get(tenant, float("-inf")) < _HOUR:
            return
        self._told_at[tenant] = now
        self._log.limited("outcomes_unknown_for_long", tenant=tenant, count=tally.count)


def gateway_of(tenant: str) -> Principal:
    """The gateway itself, as the line of what it settles names it."""
    return build_principal(
        tenant=tenant,
        id="tollhouse",
        kind=CallerKind.WORKFLOW,
        agent="",
        scopes=frozenset(),
        roles=frozenset(),
        claims={},
        proof="gateway",
    )
