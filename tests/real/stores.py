"""Databases at the newest revision: SQLite in a file, and PostgreSQL in a server that a module shares."""

import asyncio
import concurrent.futures
import contextlib
import itertools
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from real.postgres import APP, OWNER, Postgres
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from adapters.base import Clock
from gateway.clock import SystemClock
from gateway.settings.store import StoreSettings
from gateway.store.database import Database
from gateway.store.migrating import upgrade

CLOCK = SystemClock()
BRIEFLY_MS = 50
"""How long a hurried database waits for a file that will not be let go of."""
_names = itertools.count()
_migrated: set[Postgres] = set()
_template: list[Path] = []
_locked: set[Path] = set()


def copy_template(path: Path) -> None:
    """A new database in this file. The first is migrated, the others are copies of it."""
    if not _template:
        made = Path(tempfile.mkdtemp()) / "template.db"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # whoever asks may be on a loop
            pool.submit(asyncio.run, upgrade(StoreSettings(url=f"sqlite:{made}"), CLOCK)).result()
        _template.append(made)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy(_template[0], path)
    path.chmod(0o600)


async def sqlite_settings(folder: Path, **more: object) -> StoreSettings:
    """A new database in this folder. It waits for long: what is slow on a busy machine is no failure of the store."""
    path = folder / f"store-{next(_names)}.db"
    copy_template(path)
    return StoreSettings.model_validate({"url": f"sqlite:{path}", "timeout_ms": 10_000} | more)


async def postgres_settings(server: Postgres, **more: object) -> StoreSettings:
    """A new database in this server, for the gateway's own role. The first is migrated, the others are copies."""
    if server not in _migrated:
        server.database("migrated")
        await upgrade(server.settings("migrated", OWNER), CLOCK, app_role=APP)
        _migrated.add(server)
    name = f"store_{next(_names)}"
    server.database(name, like="migrated")
    return server.settings(name, **more)


def drop_databases(server: Postgres) -> None:
    """Take away what `postgres_settings` has made in this server: every one of them is eight megabytes."""
    names = server.sql(r"SELECT datname FROM pg_database WHERE datname LIKE 'store\_%'").split()
    if names:
        server.sql(*(f"DROP DATABASE {name} WITH (FORCE)" for name in names))


@contextlib.asynccontextmanager
async def opened(settings: StoreSettings, clock: Clock = CLOCK, *, is_hurried: bool = True) -> AsyncIterator[Database]:
    """A database that is closed in the end. One that is hurried does not wait for a file that is `locked` for as long
    as its settings say, which may therefore leave a busy machine plenty of time.
    """
    database = Database(settings, clock)
    if settings.is_sqlite and is_hurried:
        _hurry(database)
    try:
        yield database
    finally:
        await database.close()


def _hurry(database: Database) -> None:
    path, usual = database.settings.path, int(database.settings.timeout_ms * 0.75)
    engine = database._engine.sync_engine

    @event.listens_for(engine, "checkout")
    def wait(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
        is_locked = path in _locked
        if record.info.get("is_hurried", False) is not is_locked:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout={BRIEFLY_MS if is_locked else usual}")
            cursor.close()
            record.info["is_hurried"] = is_locked


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else writes to the SQLite file all the while."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        _locked.add(path)
        try:
            yield
        finally:
            _locked.discard(path)
            other.execute("ROLLBACK")
