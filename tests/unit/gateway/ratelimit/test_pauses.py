"""Pauses while a server is away, and what it is asked.

What every kind of pauses does is in `tests/contract/test_pauses.py`.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
from fakes.clock import FakeClock
from fakes.redis import FakeRedis

from adapters.base import Fault
from adapters.transport.pauses import MemoryPauses
from gateway.clients.redis import Answer, RedisFailed, ScriptCall
from gateway.ratelimit.breaker import PROBE_SECONDS
from gateway.ratelimit.pauses import RedisPauses

DOWN = RedisFailed("the server cannot be reached", Fault.REFUSED)


class Kit:
    """Pauses over a client that a test rules."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.redis = FakeRedis()
        self.redis.answer = lambda _call: -2
        self.pauses = RedisPauses(self.redis, MemoryPauses(self.clock), self.clock, prefix="tollhouse")

    async def back(self) -> None:
        """Time for a probe, and for its answer."""
        for _ in range(5):
            await asyncio.sleep(0)
        self.clock.advance(PROBE_SECONDS)
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def kit() -> AsyncIterator[Kit]:
    """A fresh one."""
    made = Kit()
    yield made
    await made.pauses.stop()


async def test_all_names_are_asked_for_in_one_round_trip(kit: Kit) -> None:
    """Each by a key of its own: a cluster has them on different servers."""
    kit.redis.answer = lambda call: 1500 if call.keys[0].endswith("{acme%2Fc%20}") else -2
    assert await kit.pauses.seconds_left(["acme/c ", "acme/c search"]) == 1.5
    assert kit.redis.batches == [
        [
            ScriptCall(("tollhouse:pause:{acme%2Fc%20}",), ()),
            ScriptCall(("tollhouse:pause:{acme%2Fc%20search}",), ()),
        ]
    ]


async def test_a_pause_is_told_in_milliseconds(kit: Kit) -> None:
    """One that is less than one is none."""
    await kit.pauses.pause("a", 1.5)
    await kit.pauses.pause("a", 0.0001)
    assert kit.redis.batches == [[ScriptCall(("tollhouse:pause:{a}",), ("1500",))]]


async def test_a_server_that_is_away_is_asked_once(kit: Kit) -> None:
    """What this process was told itself it knows all the same; nobody waits, nobody hears of it."""
    kit.redis.fails = DOWN
    for _ in range(3):
        await kit.pauses.pause("a", 30)
        assert await kit.pauses.seconds_left(["a"]) == 30
    assert len(kit.redis.batches) == 1
    assert not kit.pauses.is_shared


async def test_it_is_used_again_when_it_is_back(kit: Kit) -> None:
    """A probe finds out."""
    kit.redis.fails = DOWN
    await kit.pauses.seconds_left(["a"])
    await kit.back()
    assert not kit.pauses.is_shared
    kit.redis.fails = None
    await kit.back()
    assert kit.pauses.is_shared
    kit.redis.answer = lambda _call: 7000
    assert await kit.pauses.seconds_left(["a"]) == 7


@pytest.mark.parametrize("answer", [None, b"1500", "1500", [1500], DOWN, -1, -2, 0])
async def test_an_answer_that_is_no_time_is_no_pause(kit: Kit, answer: Answer | RedisFailed) -> None:
    """A vendor who is asked too early says so again."""
    kit.redis.answer = lambda _call: answer
    assert await kit.pauses.seconds_left(["a"]) == 0.0


async def test_whatever_a_client_raises_stays_here(kit: Kit) -> None:
    """It is a server that is away."""

    def broken(_call: ScriptCall) -> Answer:
        raise TypeError("a mistake")

    kit.redis.answer = broken
    assert await kit.pauses.seconds_left(["a"]) == 0.0
    await kit.pauses.pause("a", 3)
    assert await kit.pauses.seconds_left(["a"]) == 3
    assert not kit.pauses.is_shared


async def test_a_caller_that_leaves_is_let_go(kit: Kit) -> None:
    """A cancellation is no failure of the server."""
    kit.redis.gate.clear()
    leaver = asyncio.ensure_future(kit.pauses.seconds_left(["a"]))
    await asyncio.sleep(0)
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    assert kit.pauses.is_shared


async def test_a_start_connects_and_a_server_that_is_away_keeps_nobody_from_starting(kit: Kit) -> None:
    """It is probed then."""
    await kit.pauses.start()
    assert kit.pauses.is_shared
    assert len(kit.redis.batches) == 1
    other = Kit()
    other.redis.fails = DOWN
    await other.pauses.start()
    assert not other.pauses.is_shared
    await other.pauses.stop()
    assert other.redis.is_closed


async def test_a_server_that_answers_nonsense_is_not_taken_for_well(kit: Kit) -> None:
    """When it is tried."""
    kit.redis.answer = lambda _call: b"PONG"
    await kit.pauses.start()
    assert not kit.pauses.is_shared
