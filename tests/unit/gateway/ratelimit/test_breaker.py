"""The breaker."""

import asyncio

from fakes.clock import FakeClock

from adapters.base import Fault
from gateway.ratelimit.base import LimiterDown
from gateway.ratelimit.breaker import PROBE_SECONDS, Breaker


class Server:
    """Something to probe."""

    def __init__(self) -> None:
        self.is_down = True
        self.probes = 0

    async def probe(self) -> None:
        """Down or not."""
        self.probes += 1
        if self.is_down:
            raise LimiterDown(f"probe {self.probes}", Fault.TIMEOUT)


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_closes_as_soon_as_a_probe_is_answered() -> None:
    """One probe at a time, and none any more when it is closed."""
    clock, server = FakeClock(), Server()
    breaker = Breaker(server.probe, clock)
    assert breaker.why is None
    breaker.open(LimiterDown("first"))
    breaker.open(LimiterDown("second"))
    await settle()
    assert (str(breaker.why), server.probes, clock.sleepers) == ("first", 0, 1)
    clock.advance(PROBE_SECONDS)
    await settle()
    assert (str(breaker.why), server.probes) == ("probe 1", 1)
    server.is_down = False
    clock.advance(PROBE_SECONDS)
    await settle()
    assert (breaker.why, server.probes, clock.sleepers) == (None, 2, 0)


async def test_it_opens_again() -> None:
    """And probes again."""
    clock, server = FakeClock(), Server()
    server.is_down = False
    breaker = Breaker(server.probe, clock)
    for count in (1, 2):
        breaker.open(LimiterDown("down"))
        await settle()
        clock.advance(PROBE_SECONDS)
        await settle()
        assert (breaker.why, server.probes) == (None, count)


async def test_a_probe_that_breaks_ends_no_probing() -> None:
    """Whatever is wrong with it: a server that is back is used again."""
    clock, answers = FakeClock(), [RuntimeError("s3cret"), None]

    async def probe() -> None:
        if (error := answers.pop(0)) is not None:
            raise error

    breaker = Breaker(probe, clock)
    breaker.open(LimiterDown("down"))
    await settle()
    clock.advance(PROBE_SECONDS)
    await settle()
    assert str(breaker.why) == "the server could not be asked (RuntimeError)"
    clock.advance(PROBE_SECONDS)
    await settle()
    assert breaker.why is None


async def test_stopped_it_probes_no_more() -> None:
    """It stays open. Stopping what never opened is harmless."""
    clock, server = FakeClock(), Server()
    breaker = Breaker(server.probe, clock)
    await breaker.stop()
    breaker.open(LimiterDown("down"))
    await settle()
    await breaker.stop()
    clock.advance(10)
    await settle()
    assert server.probes == 0
    assert breaker.why is not None
