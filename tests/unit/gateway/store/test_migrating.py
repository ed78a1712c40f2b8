"""Migrations on SQLite; the integration tests run them on PostgreSQL as well."""

from pathlib import Path

import pytest
from real.stores import CLOCK, opened, sqlite_settings
from sqlalchemy import text

from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store.migrating import as_sql, current, differences, is_known, newest, upgrade


async def test_a_new_file_is_brought_to_the_newest_revision(tmp_path: Path) -> None:
    """Folder and all. The second time there is nothing to do."""
    settings = StoreSettings(url=f"sqlite:{tmp_path}/a/b/store.db")
    assert [await upgrade(settings, CLOCK) for _ in range(2)] == [newest()] * 2
    async with opened(settings) as database, database.nobody() as session:
        assert await session.run(current) == newest()


async def test_a_migration_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """All of it is one transaction."""
    settings = await sqlite_settings(tmp_path)
    with pytest.raises(Exception, match="0009"):
        await upgrade(settings, CLOCK, to="0009")
    assert await differences(settings, CLOCK) == ""


async def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """One sentence."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="cannot be written"):
        await upgrade(StoreSettings(url=f"sqlite:{tmp_path}/file/store.db"), CLOCK)


async def test_a_table_that_no_migration_makes_is_found(tmp_path: Path) -> None:
    """So that `differences` being empty says something."""
    settings = await sqlite_settings(tmp_path)
    async with opened(settings) as database, database.tenant("acme") as session:
        await session.execute(text("CREATE TABLE planted (x TEXT)"))
    assert "planted" in await differences(settings, CLOCK)


def test_revisions_that_are_known() -> None:
    """Those that lead here."""
    assert is_known(newest())
    assert is_known("0001")
    assert not is_known("9999")


def test_the_sql_has_everything_in_its_order() -> None:
    """Roles, then as the owner tables, policies and grants."""
    said = as_sql(owner="own", app_role="app")
    parts = ["CREATE ROLE own ", "CREATE ROLE app ", "SET ROLE own;", "CREATE TABLE calls", "FORCE ROW LEVEL SECURITY"]
    parts += ["COMMIT;", "GRANT SELECT, INSERT, UPDATE, DELETE ON calls TO app;", "RESET ROLE;"]
    places = [said.index(part) for part in parts]
    assert places == sorted(places)


def test_roles_with_odd_names_are_refused() -> None:
    """They stand in the SQL as they are."""
    with pytest.raises(StartError):
        as_sql(owner="own", app_role="a; DROP")
