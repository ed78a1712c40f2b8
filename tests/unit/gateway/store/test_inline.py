"""A transaction that a thread carries out: done, undone, and never half of it. Here without any thread."""

import types
from collections.abc import Generator, Iterator

import pytest
from sqlalchemy import Connection, StaticPool, create_engine, text

from gateway.store.failures import StoreDown
from gateway.store.inline import Whole


@pytest.fixture
def connection() -> Iterator[Connection]:
    """With a table of numbers."""
    with create_engine("sqlite://", poolclass=StaticPool).connect() as connection:
        connection.execute(text("CREATE TABLE numbers (n INTEGER CHECK (n < 10))"))
        connection.commit()
        yield connection


@types.coroutine
def _a_turn_of_the_loop() -> Generator[None, None, None]:
    yield


async def _add(connection: Connection, number: int, error: Exception | None = None) -> int:
    connection.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": number})
    if error is not None:
        raise error
    return number


def _numbers(connection: Connection) -> list[int]:
    found = list(connection.execute(text("SELECT n FROM numbers")).scalars())
    connection.rollback()
    return found


def test_what_it_gives_is_given_once_it_is_done(connection: Connection) -> None:
    """One after the other on one connection."""
    assert [Whole().carry_out(connection, _add(connection, number)) for number in (1, 2)] == [1, 2]
    assert _numbers(connection) == [1, 2]


def test_what_it_raises_undoes_it_and_goes_its_way(connection: Connection) -> None:
    """The next one is not in the middle of it."""
    error = LookupError("mine")
    with pytest.raises(LookupError) as caught:
        Whole().carry_out(connection, _add(connection, 1, error))
    assert caught.value is error
    assert Whole().carry_out(connection, _add(connection, 2)) == 2
    assert _numbers(connection) == [2]


def test_what_is_given_up_before_its_end_is_undone(connection: Connection) -> None:
    """Nobody waits for it, and whoever gave it up undoes it as well."""
    whole = Whole()

    async def left() -> None:
        await _add(connection, 1)
        whole.give_up()

    with pytest.raises(StoreDown):
        whole.carry_out(connection, left())
    assert _numbers(connection) == []


def test_work_that_waits_for_something_else_is_a_mistake(connection: Connection) -> None:
    """There is no loop that would wake it; nothing of it is done."""

    async def waiting() -> None:
        await _add(connection, 1)
        await _a_turn_of_the_loop()

    with pytest.raises(RuntimeError, match="awaited something else"):
        Whole().carry_out(connection, waiting())
    assert _numbers(connection) == []


def test_work_that_cannot_begin_is_not_begun(connection: Connection) -> None:
    """And is no coroutine that was never awaited."""
    connection.begin()
    with pytest.raises(StoreDown):
        Whole().carry_out(connection, _add(connection, 1))
    connection.rollback()
    assert _numbers(connection) == []
