"""The fourth revision makes two tables and takes them away again, whatever is in them."""

from pathlib import Path

from fakes.events import arrived
from real.stores import CLOCK, opened, sqlite_settings
from sqlalchemy import inspect

from gateway.store.events import keep
from gateway.store.migrating import downgrade, newest, upgrade
from gateway.store.migrations.versions.r0004_events import TABLES


async def test_there_and_back_and_there_again(tmp_path: Path) -> None:
    """What was in the tables is gone; the rest is as it was."""
    settings = await sqlite_settings(tmp_path)
    async with opened(settings) as database, database.tenant("acme") as session:
        assert await keep(session, arrived()) == 1
    await downgrade(settings, CLOCK, to="0003")
    async with opened(settings) as database, database.nobody() as session:
        names = await session.run(lambda connection: inspect(connection).get_table_names())
    assert not set(TABLES) & set(names)
    assert "access_tokens" in names
    assert await upgrade(settings, CLOCK) == newest()
    async with opened(settings) as database, database.tenant("acme") as session:
        assert await keep(session, arrived()) == 1
