"""Writes that share a transaction. Without a thread: `Carried` takes its place, and waits where it is told."""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from adapters.base import Fault
from gateway.store.batches import MOST, Batches, Job
from gateway.store.engines import _over
from gateway.store.failures import StoreDown, StoreRefused

Begin = Callable[[Connection], Coroutine[Any, Any, Any]]


class Carried:
    """Batches over one connection. Each transaction waits for `gate`; `sizes` is how many works each one did."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()
        self.begun = 0
        self.sizes: list[int] = []
        self.batches = Batches(self.carry)

    async def carry(self, do: Callable[[Connection], None], _is_given_up: Callable[[], bool]) -> None:
        """Do it at once, when the gate is open."""
        self.arrived.set()
        await self.gate.wait()
        before = self.begun
        do(self.connection)
        self.sizes.append(self.begun - before)

    def adding(self, number: int, error: Exception | None = None) -> Begin:
        """A work that adds a number, and then raises this."""

        async def work(connection: Connection) -> int:
            self.begun += 1
            connection.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": number})
            if error is not None:
                raise error
            return number

        return work

    def start(self, *works: Begin) -> "list[asyncio.Task[Any]]":
        """All at once."""
        return [asyncio.create_task(self.batches.run(work)) for work in works]

    @property
    def numbers(self) -> list[int]:
        """What is there."""
        found = list(self.connection.execute(text("SELECT n FROM numbers ORDER BY n")).scalars())
        self.connection.rollback()
        return found


@pytest.fixture
async def one() -> AsyncIterator[Carried]:
    """With a table of numbers."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as raw, _over(raw) as connection:
        connection.execute(text("CREATE TABLE numbers (n INTEGER CHECK (n < 1000))"))
        connection.commit()
        yield Carried(connection)


async def test_those_that_wait_share_a_transaction(one: Carried) -> None:
    """The first goes alone, and the others together when it is done; each is given what is its own."""
    one.gate.clear()
    first = one.start(one.adding(0))
    await one.arrived.wait()
    others = one.start(*(one.adding(number) for number in range(1, 6)))
    await asyncio.sleep(0)
    one.gate.set()
    assert await asyncio.gather(*first, *others) == [0, 1, 2, 3, 4, 5]
    assert one.sizes == [1, 5]
    assert one.numbers == [0, 1, 2, 3, 4, 5]


async def test_no_transaction_is_without_end(one: Carried) -> None:
    """However many wait."""
    await asyncio.gather(*one.start(*(one.adding(number) for number in range(2 * MOST + 1))))
    assert max(one.sizes) == MOST
    assert len(one.numbers) == 2 * MOST + 1


async def test_what_fails_is_undone_alone(one: Carried) -> None:
    """Its error goes its way, and the others are done."""
    error = LookupError("mine")
    tasks = one.start(one.adding(1), one.adding(2, error), one.adding(3), one.adding(4, StoreRefused("mine")))
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert found[:3] == [1, error, 3]
    assert isinstance(found[3], StoreRefused)
    assert one.numbers == [1, 3]


async def test_when_the_database_fails_all_are_in_doubt(one: Carried) -> None:
    """Nobody knows of any of them then; the next ones are not held up."""
    down = StoreDown("the disk of the database is full", Fault.REFUSED)
    found = await asyncio.gather(*one.start(one.adding(1), one.adding(2, down), one.adding(3)), return_exceptions=True)
    assert all(isinstance(each, StoreDown) for each in found)
    assert await one.batches.run(one.adding(4)) == 4
    assert one.numbers == [4]


async def test_a_commit_that_fails_fails_them_all(one: Carried, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is told that it was done."""

    def full(_connection: Connection) -> None:
        raise OperationalError("COMMIT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as broken:
        broken.setattr(Connection, "commit", full)
        found = await asyncio.gather(*one.start(one.adding(1), one.adding(2)), return_exceptions=True)
    assert [each.fault for each in found if isinstance(each, StoreDown)] == [Fault.REFUSED] * 2
    one.connection.rollback()


async def test_what_is_given_up_while_it_waits_is_not_begun(one: Carried) -> None:
    """Whoever left will not hear of it."""
    one.gate.clear()
    first = one.start(one.adding(1))
    await one.arrived.wait()
    (leaving,) = one.start(one.adding(2))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    one.gate.set()
    await asyncio.gather(*first)
    await one.batches.close(1.0)
    assert (one.begun, one.numbers) == (1, [1])


async def test_what_is_given_up_in_the_middle_is_undone_alone(one: Carried) -> None:
    """The one beside it is done."""

    async def leaving(connection: Connection) -> None:
        await one.adding(1)(connection)
        job.is_given_up = True

    job, other = Job(leaving), Job(one.adding(2))
    with one.connection.begin():
        for each in (job, other):
            each.carry_out(one.connection)
    other.tell()
    assert await other.done == 2
    assert one.numbers == [2]


async def test_a_mistake_of_ours_is_told_and_holds_nobody_up(one: Carried) -> None:
    """Work that awaits something else than its session fails alone."""

    async def waiting(_connection: Connection) -> None:
        await asyncio.get_running_loop().create_future()

    found = await asyncio.gather(*one.start(waiting, one.adding(1)), return_exceptions=True)
    assert isinstance(found[0], RuntimeError)
    assert found[1] == 1
