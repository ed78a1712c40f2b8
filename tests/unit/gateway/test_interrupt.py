"""Stopping a call from outside."""

import asyncio

from gateway.interrupt import Interrupt


async def _waiting(interrupt: Interrupt, started: asyncio.Event) -> str:
    interrupt.begins()
    started.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "taken back" if interrupt.is_taken_back() else "the caller's"
    return ""


async def _begun(interrupt: Interrupt) -> "asyncio.Task[str]":
    started = asyncio.Event()
    task = asyncio.create_task(_waiting(interrupt, started))
    await started.wait()
    return task


async def test_a_call_that_is_asked_to_stop_is_cancelled_once() -> None:
    """And knows afterwards that its caller is still there."""
    interrupt = Interrupt()
    task = await _begun(interrupt)
    assert interrupt.ask()
    assert interrupt.ask()
    assert await task == "taken back"
    assert interrupt.is_asked


async def test_a_cancellation_of_the_caller_is_not_taken_back() -> None:
    """Whether it was asked to stop as well, or not."""
    interrupt = Interrupt()
    task = await _begun(interrupt)
    task.cancel()
    assert await task == "the caller's"
    both = Interrupt()
    task = await _begun(both)
    both.ask()
    task.cancel()
    assert await task == "the caller's"


async def test_nothing_is_stopped_before_it_begins_or_once_it_is_too_late() -> None:
    """Nobody is told otherwise."""
    interrupt = Interrupt()
    assert not interrupt.ask()
    task = await _begun(interrupt)
    interrupt.ends()
    assert not interrupt.ask()
    assert not interrupt.is_asked
    assert not task.cancelling()
    task.cancel()
    await asyncio.wait((task,))


async def test_while_an_adapter_runs_it_alone_is_stopped() -> None:
    """Every time that somebody asks, for it may swallow a cancellation; after it nothing is."""
    interrupt = Interrupt()
    interrupt.begins()
    adapter = asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)
    with interrupt.at(adapter):
        assert interrupt.ask()
        assert interrupt.ask()
        await asyncio.wait((adapter,))
    assert adapter.cancelled()
    assert not interrupt.ask()
    assert not interrupt.is_taken_back()
