"""Whether a database may be used. The roles of PostgreSQL are tested on a real one."""

import sqlite3
from pathlib import Path

import pytest
from real.stores import CLOCK, opened, sqlite_settings

from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store.fitness import check, problems
from gateway.store.migrating import downgrade


async def test_a_database_at_the_newest_revision_may_be_used(tmp_path: Path) -> None:
    """Nothing is said of it."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        await check(database)
        assert await problems(database) == []


async def test_what_mends_it_is_named(tmp_path: Path) -> None:
    """For no file, for an empty one, for an old one and for a newer one."""
    settings = await sqlite_settings(tmp_path)
    told = []
    async with opened(StoreSettings(url=f"sqlite:{tmp_path}/none.db")) as database:
        told += await problems(database)
    await downgrade(settings, CLOCK, to="0001")
    async with opened(settings) as database:
        told += await problems(database)
        with sqlite3.connect(settings.path) as file:
            file.execute("UPDATE alembic_version SET version_num = '7777'")
        file.close()
        told += await problems(database)
        await database.close()
    await _forget_revision(settings)
    async with opened(settings) as database:
        told += await problems(database)
    ends = ["run `tollhouse db upgrade`"] * 2 + ["deploy a newer gateway", "run `tollhouse db upgrade`"]
    assert [sentence.rpartition("; ")[2] for sentence in told] == ends


async def _forget_revision(settings: StoreSettings) -> None:
    """A file without a schema."""
    with sqlite3.connect(settings.path) as file:
        file.execute("DELETE FROM alembic_version")
    file.close()


async def test_one_problem_is_the_sentence_itself(tmp_path: Path) -> None:
    """No list of one."""
    async with opened(StoreSettings(url=f"sqlite:{tmp_path}/none.db")) as database:
        with pytest.raises(StartError) as caught:
            await check(database)
    assert (caught.value.message.startswith("there is no database"), caught.value.problems) == (True, ())
