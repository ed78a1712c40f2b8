"""What is set on a connection is what makes claims and pools safe."""

from pathlib import Path

import pytest
from fakes.clock import FakeClock
from real.stores import sqlite_settings
from sqlalchemy import text

from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store.engines import IS_READ, new_engine


async def test_a_file_is_opened_for_keeps(tmp_path: Path) -> None:
    """Written through to the disk at every commit, foreign keys held, readers not in the way of the writer."""
    engine = new_engine(await sqlite_settings(tmp_path), FakeClock())
    async with engine.connect() as connection:
        found = [
            (await connection.execute(text(f"PRAGMA {name}"))).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
        ]
    await engine.dispose()
    assert found == ["wal", 2, 1, 0]


@pytest.mark.parametrize(("is_read", "is_held"), [(False, True), (True, False)])
async def test_a_transaction_that_writes_takes_the_lock_at_once(tmp_path: Path, is_read: bool, is_held: bool) -> None:
    """One that began without it would lose what others wrote meanwhile, or fail at once."""
    settings = await sqlite_settings(tmp_path, timeout_ms=50)
    engine = new_engine(settings, FakeClock())
    async with engine.connect() as first, engine.connect() as second:
        await first.execution_options(**{IS_READ: is_read})
        await first.execute(text("SELECT 1 FROM tenants"))
        has_waited = False
        try:
            await second.execute(text("SELECT 1 FROM tenants"))
        except Exception as error:  # noqa: BLE001 - SQLAlchemy's, whatever it is
            has_waited = "database is locked" in str(error)
    await engine.dispose()
    assert has_waited is is_held


def test_no_statement_is_kept_on_a_server_and_nothing_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind PgBouncer the next transaction may be on another server."""
    monkeypatch.setenv("PGPASSWORD", "from-the-environment")
    engine = new_engine(StoreSettings(url="postgresql://127.0.0.1/x", user="app"), FakeClock())
    _, options = engine.dialect.create_connect_args(engine.url)
    assert options == {"host": "127.0.0.1", "port": 5432, "database": "x", "user": "app"}
    given = _given(engine)
    assert given["statement_cache_size"] == given["prepared_statement_cache_size"] == 0
    assert given["prepared_statement_name_func"]() == ""
    assert (given["password"], given["ssl"]) == ("", False)


def test_a_password_is_read_anew_for_every_connection(tmp_path: Path) -> None:
    """It is rotated by whoever runs the database."""
    file = tmp_path / "password"
    file.write_text("first\n")
    engine = new_engine(StoreSettings(url="postgresql://127.0.0.1/x", user="app", password_file=file), FakeClock())
    password = _given(engine)["password"]
    assert password() == "first"
    file.write_text("the second")
    assert password() == "the second"


def test_a_ca_file_that_holds_none_is_told_at_start(tmp_path: Path) -> None:
    """One sentence with its name."""
    file = tmp_path / "ca.pem"
    file.write_text("nothing")
    settings = StoreSettings(url="postgresql://db.corp.example/x", user="app", ca_file=file)
    with pytest.raises(StartError, match="holds no certificates"):
        new_engine(settings, FakeClock())


def _given(engine: object) -> dict[str, object]:
    """What every connection is opened with."""
    creator = engine.pool._creator  # type: ignore[attr-defined]
    cells = dict(zip(creator.__code__.co_freevars, creator.__closure__, strict=True))
    return dict(cells["cparams"].cell_contents)
