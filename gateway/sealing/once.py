"""Work that several wait for is done once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Once(Generic[K, V]):
    """Whoever asks for what is being worked out already waits for that. Use it on one loop."""

    def __init__(self) -> None:
        self._tasks: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """What the work comes to, or raises, for all who wait. One who leaves takes nobody's answer along."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.get_running_loop().create_task(work())
            task.add_done_callback(lambda done: self._end(key, done))
        await asyncio.wait((task,))
        return task.result()

    def _end(self, key: K, task: "asyncio.Task[V]") -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # nobody may be left to hear of it
