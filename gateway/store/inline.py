"""A transaction of SQLite that one thread carries out in one go.

Between two statements nothing is waited for there but SQLite, so what is written with `await` for PostgreSQL needs no
loop: it is run until it is done.
"""

import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from sqlalchemy import Connection

from adapters.base import Fault
from gateway.store.failures import StoreDown, translated

T = TypeVar("T")


class Whole:
    """One transaction, which a thread carries out while a loop waits for it, until it is `given_up` there."""

    def __init__(self) -> None:
        self._is_given_up = False

    @property
    def is_given_up(self) -> bool:
        """Whether nobody waits for it any more."""
        return self._is_given_up

    def give_up(self) -> None:
        """Nobody waits for it any more. What is not done by now is not done; it may be just then, though."""
        self._is_given_up = True

    def carry_out(self, connection: Connection, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives, which awaits this connection alone. Done when this returns.

        Raises `StoreDown` and `StoreRefused`, and whatever the work raises, which undoes it.
        """
        with contextlib.closing(work):
            with translated():
                connection.begin()
            try:
                given = finished(work)
                self._check()
            except BaseException:
                with translated():
                    connection.rollback()
                raise
            with translated():
                connection.commit()
        return given

    def _check(self) -> None:
        if self._is_given_up:
            raise StoreDown("the database did not answer in time", Fault.TIMEOUT)


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What it gives that awaits nothing but its session. Raises `RuntimeError` when it does, and whatever it raises."""
    try:
        work.send(None)
    except StopIteration as done:
        given: T = done.value
        return given
    raise RuntimeError("a transaction awaited something else than its session")
