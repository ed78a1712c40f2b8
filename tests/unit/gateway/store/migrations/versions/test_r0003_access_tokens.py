"""The third revision makes one table and takes it away again, whatever is in it."""

from pathlib import Path

from real.stores import CLOCK, opened, sqlite_settings
from sqlalchemy import inspect

from gateway.store.columns import moment_of
from gateway.store.migrating import downgrade, newest, upgrade
from gateway.store.migrations.versions.r0003_access_tokens import TABLE
from gateway.store.tokens import take


async def test_there_and_back_and_there_again(tmp_path: Path) -> None:
    """What was in the table is gone; the rest is as it was."""
    settings = await sqlite_settings(tmp_path)
    async with opened(settings) as database, database.tenant("acme") as session:
        assert await take(session, "mail", "a", now=moment_of(1), until=moment_of(2)) is not None
    await downgrade(settings, CLOCK, to="0002")
    async with opened(settings) as database, database.nobody() as session:
        names = await session.run(lambda connection: inspect(connection).get_table_names())
    assert TABLE not in names
    assert "tenants" in names
    assert await upgrade(settings, CLOCK) == newest()
    async with opened(settings) as database, database.tenant("acme") as session:
        assert await take(session, "mail", "b", now=moment_of(1), until=moment_of(2)) is not None
