"""A real OPA is killed, frozen and started again under load: nothing is allowed that it did not allow."""

import asyncio
import collections
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from fakes.opa_bundles import RealOpa, built_of, engine_on, real_opa, until
from fakes.packs import document_json

from adapters.base import Fault
from gateway.call import DecisionEffect
from gateway.errors import Reason, Refusal
from gateway.policy.opa import OpaEngine

CALLERS = 32
POLICY = """default decision := {"effect": "deny", "reasons": [], "obligations": []}

decision := {"effect": "allow", "reasons": [], "obligations": []} if input.arguments.good == true
"""
GOOD = document_json(arguments={"good": True})
BAD = document_json(arguments={"good": False})

Seen = collections.Counter[tuple[Reason, Fault | None] | DecisionEffect]


@pytest.fixture(scope="module")
def bundle() -> bytes:
    """The policy of all these tests."""
    return built_of(POLICY, "r1")


@pytest.fixture
def opa(bundle: bytes) -> Iterator[RealOpa]:
    """A real OPA that decides by it."""
    with real_opa(bundle) as running:
        yield running


class Load:
    """Callers that ask all the time, half of them for what is denied."""

    def __init__(self, engine: OpaEngine) -> None:
        self.seen: Seen = collections.Counter()
        """What became of the good calls; of a bad one nothing but a denial or a refusal is ever counted."""
        self.slowest = 0.0
        self._engine = engine

    async def call_on(self) -> None:
        """Until cancelled."""
        while True:
            await self._call(GOOD)
            await self._call(BAD)

    async def _call(self, document: bytes) -> None:
        begun = asyncio.get_running_loop().time()
        try:
            effect = (await self._engine.decide(document)).effect
        except Refusal as refusal:
            self.seen[(refusal.reason, refusal.fault)] += 1
            await asyncio.sleep(0.002)  # a refusal may come at once, and the loop is the test's as well
        else:
            assert effect is (DecisionEffect.ALLOW if document is GOOD else DecisionEffect.DENY)
            self.seen[effect] += 1
        self.slowest = max(self.slowest, asyncio.get_running_loop().time() - begun)

    @property
    def refusals(self) -> set[tuple[Reason, Fault | None]]:
        """How calls were refused so far."""
        return {each for each in self.seen if isinstance(each, tuple)}

    @property
    def allowed(self) -> int:
        """How many calls were allowed so far."""
        return self.seen[DecisionEffect.ALLOW]


@asynccontextmanager
async def load_on(engine: OpaEngine) -> AsyncIterator[Load]:
    """Callers, until the end of the block. What fails in one of them fails the test."""
    load = Load(engine)
    callers = [asyncio.create_task(load.call_on()) for _ in range(CALLERS)]
    yield load
    for caller in callers:
        caller.cancel()
    ended = await asyncio.gather(*callers, return_exceptions=True)
    assert {type(each) for each in ended} == {asyncio.CancelledError}


async def _allows_again(load: Load) -> float:
    before = load.allowed
    return await until(lambda: load.allowed > before)


KILLED = {
    (Reason.POLICY_UNAVAILABLE, Fault.RESET),
    (Reason.POLICY_UNAVAILABLE, Fault.REFUSED),
    (Reason.POLICY_UNAVAILABLE, Fault.TIMEOUT),
    (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED),
}


async def test_killed_and_started_again_under_load(opa: RealOpa) -> None:
    """Every call is refused while it is gone, with the right reason; 2 s after its return all is well."""
    async with engine_on(opa) as engine, load_on(engine) as load:
        await _allows_again(load)
        opa.daemon.kill()
        await until(lambda: not engine.status().is_ready)
        allowed = load.allowed
        await until(lambda: load.seen.total() > 2000)
        assert load.allowed == allowed
        assert (Reason.POLICY_UNAVAILABLE, Fault.REFUSED) in load.refusals
        opa.daemon.start()
        assert await _allows_again(load) < 2.0
        assert engine.status().is_ready
    assert load.refusals <= KILLED


async def test_started_again_without_its_bundle_it_decides_nothing(opa: RealOpa, bundle: bytes) -> None:
    """OPA answers everybody with nothing then: that is no decision, and not undefined either."""
    async with engine_on(opa) as engine, load_on(engine) as load:
        await _allows_again(load)
        opa.service.bundle = None
        opa.daemon.kill()
        opa.daemon.start()
        await until(lambda: "is not active in OPA" in engine.status().problem)
        load.seen.clear()
        await until(lambda: load.seen.total() > 500)
        assert set(load.seen) == {(Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)}
        opa.service.bundle = bundle
        assert await _allows_again(load) < 3.0  # OPA itself waits up to one second between two looks
    assert load.refusals <= KILLED


async def test_frozen_and_thawed_under_load(opa: RealOpa) -> None:
    """No call waits longer than the deadline, later ones not at all; it goes on soon after the thaw."""
    async with engine_on(opa) as engine, load_on(engine) as load:
        await _allows_again(load)
        load.seen.clear()
        opa.daemon.freeze()
        await until(lambda: engine.status().problem == "OPA does not answer (timeout)")
        allowed = load.allowed
        assert load.refusals == {(Reason.POLICY_UNAVAILABLE, Fault.TIMEOUT)}
        await until(lambda: load.seen.total() > 1000)
        assert load.allowed == allowed
        opa.daemon.thaw()
        assert await _allows_again(load) < 2.0
    assert load.slowest < 1.0
    assert load.refusals <= {(Reason.POLICY_UNAVAILABLE, Fault.TIMEOUT)}


async def test_a_frozen_opa_costs_a_call_its_deadline_at_most(opa: RealOpa) -> None:
    """Not the deadline and a retry."""
    async with engine_on(opa) as engine:
        await until(lambda: engine.status().is_ready)
        opa.daemon.freeze()
        begun = asyncio.get_running_loop().time()
        with pytest.raises(Refusal) as caught:
            await engine.decide(GOOD)
        assert 0.29 < asyncio.get_running_loop().time() - begun < 0.6
        assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_UNAVAILABLE, Fault.TIMEOUT)


async def test_a_bundle_service_that_is_gone_makes_the_policy_too_old(opa: RealOpa, bundle: bytes) -> None:
    """The active revision goes on until it is too old, and then nothing is decided; its return ends that."""
    async with engine_on(opa, max_age_seconds=2.5, poll_seconds=0.1) as engine:
        await until(lambda: engine.status().is_ready)
        opa.service.bundle = None
        await until(lambda: "OPA has no newer bundle: bundle_error" in engine.status().problem)
        assert (await engine.decide(GOOD)).effect is DecisionEffect.ALLOW
        await until(lambda: not engine.status().is_ready)
        assert engine.status().problem.startswith("OPA has not heard from its bundle service for ")
        with pytest.raises(Refusal) as caught:
            await engine.decide(GOOD)
        assert (caught.value.reason, caught.value.fault) == (Reason.POLICY_NOT_LOADED, Fault.NOT_LOADED)
        opa.service.bundle = bundle
        await until(lambda: engine.status().is_ready)


@pytest.mark.parametrize("broken", [b"garbage", b"\x1f\x8b\x08truncated"])
async def test_a_broken_bundle_leaves_the_old_one_active(opa: RealOpa, broken: bytes) -> None:
    """And the status says that there is no newer one."""
    async with engine_on(opa, poll_seconds=0.1) as engine:
        await until(lambda: engine.status().is_ready)
        opa.service.bundle = broken
        await until(lambda: "OPA has no newer bundle: bundle_error" in engine.status().problem)
        decision = await engine.decide(GOOD)
        assert (decision.effect, decision.revision) == (DecisionEffect.ALLOW, "r1")
