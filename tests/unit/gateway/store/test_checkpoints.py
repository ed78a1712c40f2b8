"""Checkpoints of a tenant, on SQLite and on a real PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.store.checkpoints import Kept, every, keep, latest
from gateway.store.database import Database
from gateway.store.failures import StoreRefused


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """Each in turn."""
    if request.param == "sqlite":
        settings = await sqlite_settings(tmp_path)
    else:
        settings = await postgres_settings(request.getfixturevalue("server"))
    async with opened(settings) as database:
        yield database


async def test_the_last_is_found_and_all_are_listed(database: Database) -> None:
    """Oldest first, as they were signed."""
    async with database.tenant("acme") as session:
        assert await latest(session) is None
        for number in (1, 2, 3):
            await keep(session, number, b"note %d\n" % number, 1_767_225_600.0)
    async with database.tenant("acme", is_read=True) as session:
        assert await latest(session) == Kept(3, b"note 3\n")
        assert [kept.number for kept in await every(session, after=1)] == [2, 3]


async def test_a_number_is_taken_once(database: Database) -> None:
    """Of two replicas the second is refused, and what stands is the first's."""
    async with database.tenant("acme") as session:
        await keep(session, 1, b"first", 0.0)
    with pytest.raises(StoreRefused):
        async with database.tenant("acme") as session:
            await keep(session, 1, b"second", 0.0)
    async with database.tenant("acme", is_read=True) as session:
        assert await latest(session) == Kept(1, b"first")


async def test_a_tenants_are_not_anothers(database: Database) -> None:
    """On PostgreSQL; SQLite has no other."""
    if database.settings.is_sqlite:
        return
    async with database.tenant("acme") as session:
        await keep(session, 1, b"acme's", 0.0)
    async with database.tenant("other") as session:
        assert await latest(session) is None
        await keep(session, 1, b"other's", 0.0)
        assert [kept.note for kept in await every(session)] == [b"other's"]
