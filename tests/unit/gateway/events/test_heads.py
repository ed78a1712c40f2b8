"""One look into the store for all who watch."""

import asyncio

from fakes.clock import FakeClock
from fakes.scrapes import until

from gateway.events.heads import POLL_SECONDS, Heads


class Numbers:
    """The newest numbers, as a test sets them."""

    def __init__(self) -> None:
        self.of: dict[str, int] = {}
        self.asked: list[str] = []
        self.failure: Exception | None = None

    async def read(self, tenant: str) -> int:
        """The number, or the failure."""
        self.asked.append(tenant)
        if self.failure is not None:
            raise self.failure
        return self.of.get(tenant, 0)


async def _polled(clock: FakeClock) -> None:
    await until(lambda: clock.sleepers > 0)
    clock.advance(POLL_SECONDS)
    await until(lambda: clock.sleepers > 0)


async def test_an_event_that_is_kept_here_wakes_at_once() -> None:
    """Without a look into the store; and whoever is behind is not kept waiting."""
    numbers, clock = Numbers(), FakeClock()
    heads = Heads(numbers.read, clock=clock)
    async with heads.followed("acme"):
        waiting = asyncio.create_task(heads.beyond("acme", 0, 60))
        await asyncio.sleep(0)
        heads.moved("acme", 1)
        await asyncio.wait_for(waiting, 5)
        await asyncio.wait_for(heads.beyond("acme", 0, 60), 5)
    assert numbers.asked == []


async def test_an_event_of_another_replica_wakes_at_the_next_look() -> None:
    """All who watch the tenant, for one question."""
    numbers, clock = Numbers(), FakeClock()
    heads = Heads(numbers.read, clock=clock)
    async with heads.followed("acme"), heads.followed("acme"), heads.followed("rival"):
        waiting = [asyncio.create_task(heads.beyond("acme", 0, 60)) for _ in range(3)]
        other = asyncio.create_task(heads.beyond("rival", 0, 60))
        numbers.of["acme"] = 4
        await _polled(clock)
        await asyncio.wait_for(asyncio.gather(*waiting), 5)
        assert sorted(numbers.asked) == ["acme", "rival"]
        assert not other.done()
        other.cancel()


async def test_a_store_that_is_down_is_asked_again() -> None:
    """Nobody is woken by it."""
    numbers, clock = Numbers(), FakeClock()
    numbers.failure = RuntimeError("down")
    heads = Heads(numbers.read, clock=clock)
    async with heads.followed("acme"):
        waiting = asyncio.create_task(heads.beyond("acme", 0, 60))
        await _polled(clock)
        await _polled(clock)
        assert not waiting.done()
        numbers.failure, numbers.of["acme"] = None, 1
        await _polled(clock)
        await asyncio.wait_for(waiting, 5)


async def test_a_store_that_was_set_back_is_believed() -> None:
    """Who waits for more than it holds waits."""
    numbers, clock = Numbers(), FakeClock()
    heads = Heads(numbers.read, clock=clock)
    async with heads.followed("acme"):
        heads.moved("acme", 9)
        await _polled(clock)
        waiting = asyncio.create_task(heads.beyond("acme", 3, 60))
        await asyncio.sleep(0)
        assert not waiting.done()
        heads.ring()
        await asyncio.wait_for(waiting, 5)


async def test_nobody_waits_longer_than_asked_for() -> None:
    """A sign of life is due then."""
    heads = Heads(Numbers().read, clock=FakeClock())
    async with heads.followed("acme"):
        await asyncio.wait_for(heads.beyond("acme", 0, 0.01), 5)


async def test_nothing_is_asked_when_nobody_watches() -> None:
    """And nothing is left behind."""
    numbers, clock = Numbers(), FakeClock()
    heads = Heads(numbers.read, clock=clock)
    for _ in range(2):
        async with heads.followed("acme"):
            await _polled(clock)
    heads.moved("acme", 1)
    heads.ring()
    assert (heads._looking, heads._news, heads._newest, sum(heads._watched.values())) == (None, {}, {}, 0)
    assert numbers.asked == ["acme", "acme"]
