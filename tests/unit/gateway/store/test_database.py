"""Transactions on SQLite; the integration tests run them on PostgreSQL as well."""

import asyncio
from pathlib import Path

import pytest
from fakes.claims import budget
from real.stores import opened, sqlite_settings
from sqlalchemy import select, update

from adapters.base import Fault
from gateway.store.database import insert
from gateway.store.failures import StoreDown
from gateway.store.schema import budgets, tenants


async def test_a_tenant_is_there_once_it_was_asked_for(tmp_path: Path) -> None:
    """Once, however many ask at once."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        await asyncio.gather(*(database.admit("acme") for _ in range(10)))
        async with database.tenant("acme", is_read=True) as session:
            assert (await session.execute(select(tenants.c.tenant))).scalars().all() == ["acme"]
            assert session.tenant == "acme"


async def test_a_reader_waits_for_no_writer(tmp_path: Path) -> None:
    """And sees what was there before it."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        async with database.tenant("acme") as writing:
            await writing.execute(budgets.insert().values(budget("acme")))
            async with database.tenant("acme", is_read=True) as reading:
                assert (await reading.execute(select(budgets))).all() == []
        async with database.tenant("acme", is_read=True) as reading:
            assert len((await reading.execute(select(budgets))).all()) == 1


async def test_a_block_that_takes_too_long_is_ended_and_undone(tmp_path: Path) -> None:
    """Whoever holds the writer's turn has a deadline, lest all others wait for it."""
    async with opened(await sqlite_settings(tmp_path, timeout_ms=100)) as database:

        async def stay() -> None:
            async with database.tenant("acme") as session:
                await session.execute(budgets.insert().values(budget("acme")))
                await asyncio.Event().wait()

        with pytest.raises(StoreDown):
            await stay()
        async with database.tenant("acme") as session:
            assert (await session.execute(select(budgets))).all() == []


async def test_an_insert_can_say_what_happens_when_the_row_is_there(tmp_path: Path) -> None:
    """As a value, and not as an error."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        statement = insert(budgets, session.dialect).values(budget("acme")).on_conflict_do_nothing()
        assert [(await session.execute(statement)).rowcount for _ in range(2)] == [1, 0]
        assert (await session.execute(update(budgets).values(spent=1))).rowcount == 1


async def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    """And closing what was never used."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        await database.close()
        await database.admit("acme")
        await database.close()


@pytest.mark.parametrize("error", [TimeoutError("mine"), OSError("mine"), StoreDown("mine", Fault.RESET)], ids=repr)
async def test_what_the_caller_raises_goes_its_way(tmp_path: Path, error: Exception) -> None:
    """Also what looks like a failure of the database."""
    async with opened(await sqlite_settings(tmp_path)) as database:

        async def fail() -> None:
            async with database.tenant("acme"):
                raise error

        with pytest.raises(type(error)) as caught:
            await fail()
    assert caught.value is error
