"""A bell wakes those who wait, and nobody waits for ever."""

import asyncio

from gateway.approvals.bell import Bell


async def test_everybody_who_waits_is_woken() -> None:
    """Long before their time is over, and each ring wakes those who wait then."""
    bell = Bell()
    for _ in range(2):
        waiting = [asyncio.create_task(bell.wait(60)) for _ in range(3)]
        await asyncio.sleep(0)
        bell.ring()
        await asyncio.wait_for(asyncio.gather(*waiting), 1)


async def test_who_is_not_woken_goes_on_in_the_end() -> None:
    """A ring before does not count."""
    bell = Bell()
    bell.ring()
    await asyncio.wait_for(bell.wait(0.01), 1)


async def test_who_is_cancelled_is_not_taken_for_woken() -> None:
    """The cancellation goes its way."""
    waiting = asyncio.create_task(Bell().wait(60))
    await asyncio.sleep(0)
    waiting.cancel()
    assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError)
