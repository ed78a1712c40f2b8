"""Histories of idempotency keys, made up by hypothesis: several gateways, some of which die, over one database."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from fakes.clock import FakeClock
from fakes.lines import result
from fakes.seal import FakeSeal
from faults.suites.suite import Records
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from gateway.call import Standing
from gateway.errors import Refusal
from gateway.idempotency.base import Claim, Keys
from gateway.idempotency.store import LEASE_SECONDS, StoreKeys
from gateway.store import writers
from gateway.store.columns import moment_of
from gateway.store.database import Database

REPLICAS = 3
STEPS = 12
OWN, OTHER = "acme", "rival"
FATES = ("done", "done", "done", "not sent", "not sent", "unknown", "crash before", "crash after", "late")
"""What comes of asking the vendor. A crash takes the gateway along, with all that it had not told the database; one
that is late for its lease is taken for gone by the others, who call its claim unknown, before it gets to send.
"""
LATE_SECONDS = 2 * LEASE_SECONDS
WAITS = (1.0, 40.0, 3600.0, 25 * 3600.0)
NAMES, ARGUMENTS = ("a", "b", "c", "d"), ("x", "x", "y")


@dataclass(slots=True)
class World:
    """What outlives a history."""

    database: Database
    records: Records
    wait: Callable[[Coroutine[Any, Any, Any]], Any]
    """Runs something on the database's loop to its end."""
    tick: Callable[[], None]
    claims: bool = True
    """False for the mutant: the vendor is asked and nobody takes the key."""
    clock: FakeClock = field(default_factory=FakeClock)
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    async def close_lapsed(self, tenant: str) -> None:
        """What any gateway does with the open claims of one whose lease is over."""
        now = moment_of(self.clock.now())
        async with self.database.tenant(tenant) as session:
            for claim in await writers.lapsed_claims(session, now):
                await writers.close(session, claim, "call", closed_by="another", now=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call: for which key, with which arguments, and what will come of it."""

    tenant: str
    key: str
    arguments: str
    fate: str


class Replica:
    """One gateway: looks, claims, asks the vendor, tells what came of it, in the order of `gateway/pipeline.py`."""

    def __init__(self, world: World, history: int) -> None:
        self._world = world
        self._history = history
        self._store = self._born()

    def _born(self) -> StoreKeys:
        world = self._world
        return StoreKeys(world.database, writer=f"w{next(world.numbers)}", clock=world.clock, seal=FakeSeal())

    async def call(self, asked: Asked) -> None:
        """One call and all that comes of it, into the records."""
        call_id = f"c{next(self._world.numbers)}"
        keys = self._store.of(asked.tenant)
        claim = Claim(key=asked.key, call_id=call_id, effect_id=call_id, arguments_digest=asked.arguments)
        try:
            outcome = await self._known(keys, claim)
        except Refusal as refusal:
            outcome = refusal.reason.value
        if outcome:
            self._tell(asked, call_id, outcome)
            return
        await self._act(keys, claim, asked)

    async def mend(self) -> None:
        """What a gateway does every second."""
        await self._store.mend()

    async def _known(self, keys: Keys, claim: Claim) -> str:
        """What a caller is told of a key that is taken; empty when it is ours now."""
        known = await keys.look(claim.key)
        if known is None and self._world.claims:
            known = await keys.claim(claim, b'{"side_effect":"send"}')
        if known is None:
            return ""
        if known.arguments_digest != claim.arguments_digest:
            return "other arguments"
        return {Standing.DONE: "again", Standing.IN_PROGRESS: "in progress"}.get(known.standing, known.standing.value)

    async def _act(self, keys: Keys, claim: Claim, asked: Asked) -> None:
        if asked.fate == "late":
            self._world.clock.advance(LATE_SECONDS)
            await self._world.close_lapsed(asked.tenant)
        if self._world.claims and not keys.holds(claim):
            await keys.release(claim)
            self._tell(asked, claim.call_id, "nothing sent without a lease")
            return
        await self._send(keys, claim, asked)

    async def _send(self, keys: Keys, claim: Claim, asked: Asked) -> None:
        # Written down first, as a vendor does: as soon as the keys know, others may be told that it was done.
        outcome = "done" if asked.fate == "late" else asked.fate
        self._tell(asked, claim.call_id, outcome, has_effect=asked.fate not in {"not sent", "crash before"})
        if asked.fate.startswith("crash"):
            self._store = self._born()
        elif outcome == "done":
            await keys.settle(claim, result())
        elif outcome == "not sent":
            await keys.release(claim)
        else:
            await keys.leave_unknown(claim)

    def _tell(self, asked: Asked, call_id: str, outcome: str, *, has_effect: bool = False) -> None:
        self._world.records.add(
            history=self._history,
            at=self._world.clock.now(),
            tenant=asked.tenant,
            key=asked.key,
            arguments=asked.arguments,
            call_id=call_id,
            outcome=outcome,
            effect=has_effect,
        )


def machine_over(world: World, tenants: tuple[str, ...]) -> type[RuleBasedStateMachine]:
    """A machine whose every life is one history, with keys that no other has."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.history = next(world.numbers)
            self.replicas = [Replica(world, self.history) for _ in range(REPLICAS)]

        def asked(self, name: str, arguments: str, fate: str, tenant: str) -> Asked:
            return Asked(tenant=tenant, key=f"{self.history}-{name}", arguments=arguments, fate=fate)

        @rule(
            replica=st.integers(0, REPLICAS - 1),
            name=st.sampled_from(NAMES),
            arguments=st.sampled_from(ARGUMENTS),
            fate=st.sampled_from(FATES),
            tenant=st.sampled_from(tenants),
        )
        def call(self, replica: int, name: str, arguments: str, fate: str, tenant: str) -> None:
            """New, the same again, changed, of another tenant, on another replica."""
            world.wait(self.replicas[replica].call(self.asked(name, arguments, fate, tenant)))

        @rule(name=st.sampled_from(NAMES), fates=st.lists(st.sampled_from(FATES), min_size=2, max_size=5))
        def together(self, name: str, fates: list[str]) -> None:
            """The same key several times at once, on all replicas."""
            calls = [
                self.replicas[number % REPLICAS].call(self.asked(name, "x", fate, OWN))
                for number, fate in enumerate(fates)
            ]
            world.wait(_all(calls))

        @rule(seconds=st.sampled_from(WAITS))
        def wait(self, seconds: float) -> None:
            """Time passes; what is old may be forgotten."""
            world.clock.advance(seconds)
            world.wait(_all([replica.mend() for replica in self.replicas]))

        def teardown(self) -> None:
            """The end of the history."""
            world.records.add(history=self.history, ended=True)
            world.tick()

    return Machine


def live(world: World, tenants: tuple[str, ...], count: int) -> None:
    """So many histories. The same ones every time, so that what was found once is found again."""
    run_state_machine_as_test(
        machine_over(world, tenants),
        settings=settings(
            max_examples=count,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


async def duplicates(world: World, count: int) -> None:
    """One call so many times at once, on all replicas, with one key."""
    history = next(world.numbers)
    replicas = [Replica(world, history) for _ in range(REPLICAS)]
    asked = Asked(tenant=OWN, key=f"{history}-same", arguments="x", fate="done")
    await _all([replicas[number % REPLICAS].call(asked) for number in range(count)])
    world.records.add(history=history, ended=True)
    world.tick()


async def _all(work: list[Coroutine[Any, Any, None]]) -> None:
    await asyncio.gather(*work)
