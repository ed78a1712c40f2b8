"""Work that is done once for all who wait."""

import asyncio
import gc

import pytest

from gateway.sealing.once import Once


async def test_all_who_ask_meanwhile_get_the_one_answer() -> None:
    """And whoever asks later has it worked out anew."""
    once: Once[str, int] = Once()
    gate, begun = asyncio.Event(), []

    async def work() -> int:
        begun.append(1)
        await gate.wait()
        return len(begun)

    waiting = [asyncio.create_task(once.get("a", work)) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*waiting) == [1] * 5
    assert await once.get("a", work) == 2


async def test_one_who_leaves_takes_nobodys_answer_along() -> None:
    """Even when it came first."""
    once: Once[str, str] = Once()
    gate = asyncio.Event()

    async def work() -> str:
        await gate.wait()
        return "done"

    first, second = (asyncio.create_task(once.get("a", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert await second == "done"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_failure_is_everybodys_and_nobodys_warning() -> None:
    """When all have left it is not reported as forgotten."""
    once: Once[str, str] = Once()
    gate = asyncio.Event()

    async def work() -> str:
        await gate.wait()
        raise OSError

    waiting = [asyncio.create_task(once.get("a", work)) for _ in range(2)]
    gone = asyncio.create_task(once.get("b", work))
    await asyncio.sleep(0)
    gone.cancel()
    gate.set()
    ended = await asyncio.gather(*waiting, gone, return_exceptions=True)
    assert [type(one) for one in ended] == [OSError, OSError, asyncio.CancelledError]
    await asyncio.sleep(0)
    gc.collect()
