"""Tasks that go on beside the calls."""

import asyncio
from typing import Any


async def end(task: "asyncio.Task[Any] | None") -> None:
    """Return when the task is cancelled and over, whatever it ended with. Harmless for none, and for one that is over.

    Whoever waits here can be cancelled itself: `await task` would take that for the task's own end.
    """
    if task is None:
        return
    task.cancel()
    await asyncio.wait((task,))
