"""Deadlines: what is late is late, and what only the loop was late to read is not."""

import asyncio
import socket
import threading
import time

import pytest

from gateway.clients.deadline import within


async def test_what_takes_longer_ends() -> None:
    """In time, the second half included."""
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        async with within(0.1):
            await asyncio.Event().wait()
    assert 0.09 < time.monotonic() - began < 1.0


async def test_what_is_done_in_time_leaves_nothing_behind() -> None:
    """No timer ends what comes afterwards."""
    async with within(0.02):
        pass
    await asyncio.sleep(0.05)


async def test_an_answer_that_came_while_the_loop_stood_still_is_read() -> None:
    """Nobody was late but the loop."""
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.setblocking(False)
        async with within(0.1):
            waiting = asyncio.ensure_future(asyncio.get_running_loop().sock_recv(mine, 10))
            await asyncio.sleep(0)
            threading.Thread(target=theirs.sendall, args=(b"answer",)).start()
            threading.Event().wait(0.15)  # the loop stands still
            assert await waiting == b"answer"


async def test_whoever_is_cancelled_is_not_told_of_time() -> None:
    """The two are different things."""

    async def wait() -> None:
        async with within(10):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(wait())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
