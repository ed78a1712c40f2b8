"""Step 2: how much one caller may ask, and how much the gateway takes on."""

import pytest
from fakes.clock import FakeClock
from fakes.principals import principal

from gateway.admission import Admission, Overloaded
from gateway.errors import Code, Reason, Refusal
from gateway.ratelimit.base import LimiterDown
from gateway.ratelimit.memory import MemoryLimiter
from gateway.rows import Rate


def admission(*, per_minute=60, burst=2, max_in_flight=2):
    clock = FakeClock()
    limiter = MemoryLimiter(clock.monotonic)
    return Admission(
        take=limiter.take, rate=Rate(per_minute=per_minute, burst=burst), max_in_flight=max_in_flight
    ), clock


async def test_a_caller_who_asks_too_often_is_told_when_to_come_back():
    """After the burst: rate_limited with the time until the next, and then it passes."""
    gate, clock = admission()
    await gate.admit(principal())
    await gate.admit(principal())
    with pytest.raises(Refusal) as refused:
        await gate.admit(principal())
    assert refused.value.code is Code.RATE_LIMITED
    assert 0 < refused.value.retry_after_ms <= 1000
    clock.advance(1)
    await gate.admit(principal())


async def test_callers_are_counted_apart():
    """Another principal, or the same name in another tenant, has its own count."""
    gate, _ = admission(burst=1)
    await gate.admit(principal())
    await gate.admit(principal(id="other"))
    await gate.admit(principal(tenant="other"))
    with pytest.raises(Refusal):
        await gate.admit(principal())


def test_there_is_room_for_so_many_and_no_more():
    """One over is turned away; a place that was given back can be taken again."""
    gate, _ = admission()
    with gate.room, gate.room:
        assert gate.in_flight == 2
        with pytest.raises(Overloaded), gate.room:
            pass
    assert gate.in_flight == 0
    with gate.room:
        pass


def test_a_place_is_given_back_whatever_happens():
    """An error inside does not cost the place."""
    gate, _ = admission()
    with pytest.raises(KeyError), gate.room:
        raise KeyError
    assert gate.in_flight == 0


def test_calls_that_wait_for_a_vendor_are_not_active():
    """They are in flight, but nobody's line waits for them."""
    gate, _ = admission()
    with gate.room, gate.outside:
        assert (gate.in_flight, gate.active()) == (1, 0)
    assert gate.active() == 0


async def test_what_cannot_be_counted_is_not_let_in():
    """A limiter that fails refuses, with a reason of its own."""

    async def broken(_checks):
        raise LimiterDown("full")

    gate = Admission(take=broken, rate=Rate(per_minute=60, burst=1), max_in_flight=1)
    with pytest.raises(Refusal) as refused:
        await gate.admit(principal())
    assert refused.value.reason is Reason.LIMITER_UNAVAILABLE


async def test_other_bounds_hold_from_then_on():
    """Who has a place keeps it; nobody else gets one while there are more than the new most."""
    gate, _ = admission(burst=1)
    with gate.room, gate.room:
        gate.hold(Rate(per_minute=60, burst=3), 1)
        assert gate.in_flight == 2
        with pytest.raises(Overloaded), gate.room:
            pass
    for _ in range(2):
        await gate.admit(principal())
    with gate.room, pytest.raises(Overloaded), gate.room:
        pass
