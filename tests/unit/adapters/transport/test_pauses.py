"""Pauses in memory. What every kind of them does is in `tests/contract/test_pauses.py`."""

from fakes.clock import FakeClock

from adapters.transport.pauses import MemoryPauses


async def test_a_clock_that_is_set_changes_nothing() -> None:
    """A pause is a length of time."""
    clock = FakeClock()
    pauses = MemoryPauses(clock)
    await pauses.pause("a", 10)
    clock._now += 1e6
    assert await pauses.seconds_left(["a"]) == 10


async def test_ten_thousand_are_remembered() -> None:
    """The one that was touched longest ago is forgotten; who is paused anew is not."""
    pauses = MemoryPauses(FakeClock())
    await pauses.pause("kept", 10)
    await pauses.pause("lost", 10)
    for number in range(9_998):
        await pauses.pause(str(number), 10)
    await pauses.pause("kept", 20)
    await pauses.pause("one more", 10)
    assert await pauses.seconds_left(["lost"]) == 0.0
    assert await pauses.seconds_left(["kept"]) == 20
    assert len(pauses._until) == 10_000
