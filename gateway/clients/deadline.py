"""One deadline over all that a question takes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


@contextlib.asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """What takes longer is a `TimeoutError`.

    The time is given in two halves, of which the second begins when the loop has noticed the end of the first: when
    the loop itself stood still, the answer that came meanwhile is read instead of called late.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        half = loop.call_later(seconds / 2, lambda: limit.reschedule(loop.time() + seconds / 2))
        try:
            yield
        finally:
            half.cancel()
