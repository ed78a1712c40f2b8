"""Group commit: many callers share one write and one sync, made by one thread.

The thread has one batch in its hands at a time. A caller who is alone is written at once; when others
are being worked on, a batch waits for them, but never longer than the delay. At 64 in flight that costs
one wake-up of the loop per batch, at 1 it costs no delay.
"""

import asyncio
import errno
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from adapters.base import Fault

T = TypeVar("T")

_REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EFBIG}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long things may take."""

    delay_seconds: float = 0.004
    """The longest that an item waits for others before it is handed over."""
    timeout_seconds: float = 5.0
    """The longest that a caller waits for the disk."""
    retry_seconds: float = 0.25
    """How long after a failure the disk is tried again."""


class NotCommitted(Exception):  # noqa: N818 - it is always turned into a Refusal
    """The item is not known to be durable."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class _Waiter(Generic[T]):
    """An item, who waits for it (the future's result is a fault or None) and until when."""

    __slots__ = ("due", "future", "item")

    def __init__(self, item: T, future: asyncio.Future[Fault | None], due: float) -> None:
        self.item = item
        self.future = future
        self.due = due

    def resolve(self, fault: Fault | None) -> None:
        if not self.future.done():
            self.future.set_result(fault)


class GroupCommit(Generic[T]):
    """Hands items to `write`, which runs in a thread and returns when all of them are durable.

    Every item that was put is handed over, in order, even when its caller was cancelled or refused in
    the meantime. With `keeps_failed` a batch whose write failed is handed over again, until it succeeds;
    meanwhile every put is refused at once. `done` is called in the loop before the callers wake up.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[list[T]], None],
        *,
        active: Callable[[], int],
        pace: Pace,
        done: Callable[[list[T]], None] = lambda _items: None,
        keeps_failed: bool = False,
    ) -> None:
        self._name = name
        self._write = write
        self._active = active
        self._pace = pace
        self._done = done
        self._keeps_failed = keeps_failed
        self._pending: list[_Waiter[T]] = []
        self._batch: list[_Waiter[T]] | None = None
        self._fault: Fault | None = None
        self._planned: asyncio.Handle | None = None
        self._watchdog: asyncio.TimerHandle | None = None
        self._queue: queue.SimpleQueue[list[T] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._is_closed = False

    @property
    def is_healthy(self) -> bool:
        """Whether the last batch that ended was written, and none is overdue."""
        return self._fault is None

    @property
    def is_idle(self) -> bool:
        """Whether the thread has nothing in its hands; a disk that hangs may keep it at work beyond `close`."""
        return self._batch is None

    def owed(self) -> tuple[int, float]:
        """How many items are not durable yet, and for how many seconds the oldest has waited."""
        waiting = (*(self._batch or ()), *self._pending)
        if not waiting:
            return 0, 0.0
        return len(waiting), asyncio.get_running_loop().time() - (waiting[0].due - self._pace.timeout_seconds)

    async def put(self, item: T) -> None:
        """The item is durable. Raises `NotCommitted`, and then it may or may not be, now or later."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(item, loop.create_future(), loop.time() + self._pace.timeout_seconds)
        self._pending.append(waiter)
        if self._is_closed:
            raise NotCommitted(Fault.REFUSED)
        if self._fault is not None:
            raise NotCommitted(self._fault)
        if self._watchdog is None:
            self._watchdog = loop.call_at(waiter.due, self._look_for_overdue)
        self._plan()
        fault = await waiter.future
        if fault is not None:
            raise NotCommitted(fault)

    def push(self, item: T) -> None:
        """Hand the item over soon; nobody waits for it."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(item, loop.create_future(), loop.time() + self._pace.timeout_seconds)
        waiter.resolve(None)
        self._pending.append(waiter)
        self._plan()

    async def close(self) -> None:
        """Everything pending was handed over once more and came back, or the timeout passed; the thread ends.

        Calling it twice is harmless.
        """
        self._is_closed = True
        for _round in ("in flight", "pending"):
            if self._batch is None and self._pending:
                self._hand_over()
            await self._wait_until_idle()
        self._cancel_timers()
        if self._thread is not None:
            self._queue.put(None)
            if self._batch is None:
                self._thread.join()
            self._thread = None

    def _plan(self) -> None:
        """Decide when the pending items are handed over.

        1. A batch is in the thread's hands: when it comes back.
        2. Every call that is being worked on waits here itself: now, since nobody else can join.
        3. Otherwise others may still join: after the delay.
        """
        if self._batch is not None:
            return
        if len(self._pending) >= self._active():
            self._hand_over()
        elif self._planned is None:
            loop = asyncio.get_running_loop()
            self._planned = loop.call_later(self._pace.delay_seconds, self._hand_over)

    def _hand_over(self) -> None:
        self._cancel_plan()
        if self._batch is not None:
            return
        self._batch, self._pending = self._pending, []
        self._idle.clear()
        if self._thread is None:
            work = (asyncio.get_running_loop(),)
            # A daemon: a disk that hangs must not keep the process from ending.
            self._thread = threading.Thread(target=self._work, args=work, name=self._name, daemon=True)
            self._thread.start()
        self._queue.put([waiter.item for waiter in self._batch])

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (items := self._queue.get()) is not None:
            fault = self._attempt(items)
            try:
                loop.call_soon_threadsafe(self._finish, fault)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

    def _attempt(self, items: list[T]) -> Fault | None:
        try:
            self._write(items)
        except OSError as error:
            return fault_of(error)
        except Exception:  # noqa: BLE001 - the thread outlives whatever a write raises; callers are refused
            return Fault.ERROR
        return None

    def _finish(self, fault: Fault | None) -> None:
        batch, self._batch = self._batch or [], None
        self._fault = fault if self._keeps_failed else None
        if fault is None:
            self._done([waiter.item for waiter in batch])
        elif self._keeps_failed:
            self._pending[:0] = batch
        for waiter in batch:
            waiter.resolve(fault)
        self._idle.set()
        self._go_on()

    def _go_on(self) -> None:
        """After a batch: again later when it failed, or with what has gathered meanwhile."""
        if self._is_closed or not self._pending:
            return
        if self._fault is None:
            self._plan()
            return
        self._cancel_plan()
        self._planned = asyncio.get_running_loop().call_later(self._pace.retry_seconds, self._hand_over)

    def _look_for_overdue(self) -> None:
        """Refuse everybody when somebody waited too long; otherwise look again when the oldest is due."""
        self._watchdog = None
        loop = asyncio.get_running_loop()
        waiting = [waiter for waiter in (*(self._batch or ()), *self._pending) if not waiter.future.done()]
        if not waiting:
            return
        if waiting[0].due > loop.time():
            self._watchdog = loop.call_at(waiting[0].due, self._look_for_overdue)
            return
        if self._batch is not None:
            self._fault = Fault.TIMEOUT  # until the batch comes back
        for waiter in waiting:
            waiter.resolve(Fault.TIMEOUT)

    async def _wait_until_idle(self) -> None:
        try:
            await asyncio.wait_for(self._idle.wait(), self._pace.timeout_seconds)
        except TimeoutError:
            return

    def _cancel_plan(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
        self._planned = None

    def _cancel_timers(self) -> None:
        self._cancel_plan()
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None


def fault_of(error: OSError) -> Fault:
    """How the disk failed, for the audit line."""
    if isinstance(error, TimeoutError):
        return Fault.TIMEOUT
    return Fault.REFUSED if error.errno in _REFUSALS else Fault.ERROR
