"""Tasks that go on beside the calls."""

import asyncio

import pytest

from gateway.background import end


async def test_a_task_is_over() -> None:
    """Also one that needs a moment to end."""
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await end(task)
    assert ended == ["ended"]
    await end(task)
    await end(None)


async def test_what_a_task_failed_with_is_not_raised() -> None:
    """Whoever stops it has other things to stop."""

    async def work() -> None:
        raise ValueError

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    await end(task)
    assert isinstance(task.exception(), ValueError)


async def test_whoever_waits_can_be_cancelled() -> None:
    """A stop that hangs must not hang whoever stops."""
    stubborn = asyncio.Event()

    async def work() -> None:
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    ending = asyncio.create_task(end(task))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    stubborn.set()
    await task
