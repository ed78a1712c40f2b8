"""How somebody other than its caller stops a call."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupt:
    """Stops one call. Before a write's intent the whole call is cancelled; from then on its adapter alone, and what
    that says is the truth of it; when the adapter is done nothing is stopped any more.
    """

    # Defaults of the class: every call makes one of these, and most are never asked anything.
    is_asked = False
    """Whether somebody wants the call stopped."""
    has_caller_left = False
    """Whether the caller left while a write went on."""
    _task: "asyncio.Task[Any] | None" = None
    _target: "asyncio.Task[Any] | None" = None
    _cancelled = False
    _is_over = False

    def begins(self) -> None:
        """The call is the task that is running now."""
        self._task = self._target = asyncio.current_task()

    def ends(self) -> None:
        """It is too late from here on."""
        self._is_over = True

    @contextmanager
    def at(self, adapter: "asyncio.Task[Any]") -> Iterator[None]:
        """In here it stops this task and not the call, which tells what came of it."""
        self._target = adapter
        try:
            yield
        finally:
            self.ends()

    def ask(self) -> bool:
        """Stop the call. False when it is too late for that. Asking again is harmless, and asks the adapter again."""
        if self._is_over or self._target is None:
            return False
        if self._target is not self._task:
            self._target.cancel()
        elif not self.is_asked:
            self._cancelled = True
            self._target.cancel()
        self.is_asked = True
        return True

    def is_taken_back(self) -> bool:
        """Whether the call was cancelled by this alone and not by its caller, once the cancellation is taken back.
        Ask it once, in the call's own task.
        """
        if not self._cancelled or self._task is None:
            return False
        return self._task.uncancel() == 0
