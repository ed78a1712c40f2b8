"""Transactions of a file of SQLite that wait for one another: all that do are carried out as one, in one go.

They share its sync and the way to the thread, which cost more than all else. Each is undone by itself when it fails,
and all are when the transaction does. Between two statements nothing is waited for there but SQLite, so what is written
with `await` for PostgreSQL needs no loop: it is run until it is done.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from gateway.store.failures import StoreDown, StoreRefused, told, translated

T = TypeVar("T")
MOST = 32
"""Works in one transaction: while a thread is at them it is in the way of the loop."""

Begin = Callable[[Connection], Coroutine[Any, Any, T]]
Carry = Callable[[Callable[[Connection], None], Callable[[], bool]], Awaitable[None]]


class Job(Generic[T]):
    """One work, and whoever waits for it until it is `given_up`."""

    def __init__(self, begin: Begin[T]) -> None:
        self._begin = begin
        self.done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._given: T | None = None
        self._error: BaseException | None = None
        self.is_given_up = False
        """Nobody waits for it any more. What is not done by now is not done; it may be just then, though."""

    def carry_out(self, connection: Connection) -> None:
        """In the thread. Raises `StoreDown`, which ends the whole transaction; whatever else undoes this work alone."""
        with translated():
            part = connection.begin_nested()
        try:
            with contextlib.closing(self._begin(connection)) as work:
                self._given = finished(work)
        except StoreDown:
            raise
        except Exception as error:  # noqa: BLE001 - the work's own, which goes its way
            self._error = error
        with translated():
            if self._error is not None or self.is_given_up:
                part.rollback()
            else:
                part.commit()

    def tell(self) -> None:
        """In the loop, when the transaction is done."""
        if self.done.done():
            return
        if self._error is not None:
            self.done.set_exception(self._error)
        else:
            self.done.set_result(self._given)  # type: ignore[arg-type]  # it was given

    def fail(self, error: StoreDown | StoreRefused) -> None:
        """In the loop, when nobody knows what became of the transaction."""
        if not self.done.done():
            self.done.set_exception(error)


class Batches:
    """Those that wait, and one task that has them carried out as long as there are any. `carry` hands a function to
    a thread with a connection, and raises `StoreDown`; the second one says whether nobody waits for it any more.
    """

    def __init__(self, carry: Carry) -> None:
        self._carry = carry
        self._waiting: list[Job[Any]] = []
        self._leader: asyncio.Task[None] | None = None

    async def run(self, begin: Begin[T]) -> T:
        """What the work gives, once its transaction is done. Raises as `Database.run` does."""
        job = Job(begin)
        self._waiting.append(job)
        if self._leader is None:
            self._leader = asyncio.create_task(self._lead())
        try:
            return await job.done
        except asyncio.CancelledError:
            job.is_given_up = True
            raise

    async def close(self, seconds: float) -> None:
        """Let those that are on their way come to their end, for so long."""
        if self._leader is not None:
            await asyncio.wait((self._leader,), timeout=seconds)

    async def _lead(self) -> None:
        try:
            while self._waiting:
                jobs = [job for job in self._waiting[:MOST] if not job.is_given_up]
                del self._waiting[:MOST]
                await self._carried(jobs)
        finally:
            self._leader = None

    async def _carried(self, jobs: Sequence[Job[Any]]) -> None:
        try:
            if jobs:
                await self._carry(lambda plain: _all(plain, jobs), lambda: all(job.is_given_up for job in jobs))
        except BaseException as error:
            for job in jobs:
                job.fail(told(error if isinstance(error, Exception) else TimeoutError()))
            if not isinstance(error, Exception):
                raise
        for job in jobs:
            job.tell()


def _all(connection: Connection, jobs: Sequence[Job[Any]]) -> None:
    """In the thread: one transaction. Raises `StoreDown`, and then nobody knows whether it was done."""
    with translated():
        connection.begin()
    try:
        for job in jobs:
            if not job.is_given_up:
                job.carry_out(connection)
    except BaseException:
        with translated():
            connection.rollback()
        raise
    with translated():
        connection.commit()


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What it gives that awaits nothing but its session. Raises `RuntimeError` when it does, and whatever it raises."""
    try:
        work.send(None)
    except StopIteration as done:
        given: T = done.value
        return given
    raise RuntimeError("a transaction awaited something else than its session")
