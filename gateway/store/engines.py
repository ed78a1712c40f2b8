"""How each database is connected to. What is set here is what makes claims, locks and pools safe."""

import asyncio
import contextlib
import os
import sqlite3
import ssl
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar
from urllib.parse import quote

import aiosqlite
from sqlalchemy import URL, Connection, NullPool, StaticPool, create_engine, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from adapters.base import Clock
from gateway.errors import StartError
from gateway.settings.store import StoreSettings
from gateway.store import framing
from gateway.watched import WatchedFile

_BUSY = 0.75
"""The part of a transaction's time after which SQLite gives up by itself, so that nothing has to be broken off."""
_STEPS = 20_000
"""After how many steps of its machine SQLite asks whether to go on: some milliseconds."""
IS_READ = "gateway_is_read"
"""The execution option of a transaction that writes nothing."""
T = TypeVar("T")


class _Dialect(PGDialect_asyncpg):
    """Asks nothing of its own outside a transaction: behind PgBouncer the answer may be another server's."""

    supports_statement_cache = True

    async def setup_asyncpg_json_codec(self, conn: Any) -> None:
        """Nothing: no column is JSON."""

    async def setup_asyncpg_jsonb_codec(self, conn: Any) -> None:
        """Nothing: no column is JSON."""

    def do_terminate(self, dbapi_connection: Any) -> None:
        """At once: a server that does not answer would not answer a farewell either."""
        dbapi_connection.driver_connection.terminate()


registry.impls["postgresql.tollhouse"] = lambda: _Dialect
framing.install()


def new_engine(settings: StoreSettings, clock: Clock, *, is_for_migrations: bool = False) -> AsyncEngine:
    """An engine that has not connected yet. Raises `StartError` when the CA file is unusable."""
    if settings.is_sqlite:
        return _sqlite(settings, is_for_migrations=is_for_migrations)
    return _postgresql(settings, clock, is_for_migrations=is_for_migrations)


def _pool(settings: StoreSettings, *, is_for_migrations: bool) -> dict[str, Any]:
    if is_for_migrations:
        return {"poolclass": NullPool}
    # Taken last, used first: few stay warm. The wait for one is part of the transaction's own time.
    return {"pool_size": settings.pool_size, "max_overflow": 0, "pool_timeout": None, "pool_use_lifo": True}


def _postgresql(settings: StoreSettings, clock: Clock, *, is_for_migrations: bool) -> AsyncEngine:
    host, port, database = settings.server
    password = settings.password_file and WatchedFile(settings.password_file, clock.monotonic, look_seconds=0.0)
    arguments: dict[str, Any] = {
        # Unnamed statements and no cache: a named one stays behind on a server that PgBouncer gives to others.
        "statement_cache_size": 0,
        "prepared_statement_cache_size": 0,
        "prepared_statement_name_func": lambda: "",
        # asyncpg looks into the environment and into files of the user's for what it is not given.
        "password": password.text if password else "",
        "passfile": os.devnull,
        "target_session_attrs": "any",
        "ssl": _tls(settings) if settings.is_encrypted else False,
        "timeout": settings.timeout_ms / 1000,
    }
    url = URL.create("postgresql+tollhouse", settings.user, host=host, port=port, database=database)
    return create_async_engine(
        url,
        connect_args=arguments,
        hide_parameters=True,
        **_pool(settings, is_for_migrations=is_for_migrations),
    )


def _tls(settings: StoreSettings) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise StartError(f"{settings.ca_file} holds no certificates that can be read; name a PEM file") from error


class File(aiosqlite.Connection):
    """One connection to a file of SQLite, with a thread of its own."""

    def __init__(self, settings: StoreSettings) -> None:
        super().__init__(lambda: _open(settings), iter_chunk_size=64)
        self._thread.daemon = True  # a disk that hangs must not keep the process from ending
        self._ending: asyncio.Future[None] | None = None
        self._plain: Connection | None = None

    def __await__(self) -> Generator[Any, None, aiosqlite.Connection]:
        """Open it. When that fails its thread has ended: it would tell a loop that may be closed by then."""
        try:
            return (yield from super().__await__())
        except sqlite3.Error:
            if self._ending is not None:
                yield from self._ending
            raise

    async def at_once(
        self, work: Callable[[Connection], T], *, is_read: bool, is_given_up: Callable[[], bool] = lambda: False
    ) -> T:
        """What the work gives with a connection of SQLAlchemy's that is not asynchronous, all of it in the thread: one
        hop there and back, where each statement has one of its own otherwise. Once it is given up no statement
        comes to its end.
        """
        execute: Callable[..., Awaitable[T]] = self._execute
        return await execute(self._work, work, is_read, is_given_up)

    def _work(self, work: Callable[[Connection], T], is_read: bool, is_given_up: Callable[[], bool]) -> T:
        if self._plain is None:
            self._plain = _over(self._conn)
        self._plain.execution_options(**{IS_READ: is_read})
        # `interrupt` ends what is being executed, and not what would be executed next.
        self._conn.set_progress_handler(is_given_up, _STEPS)
        try:
            return work(self._plain)
        finally:
            self._conn.set_progress_handler(None, 0)

    def stop(self) -> "asyncio.Future[None] | None":
        """Let the thread end; the future is done when it has."""
        self._ending = super().stop()
        return self._ending

    async def close(self) -> None:
        """Close it, with nothing of its transaction left: SQLite itself would go on holding the lock for as long
        as anything refers to one of its cursors, as the traceback of a cancelled call does.
        """
        with contextlib.suppress(ValueError, sqlite3.Error):  # closed already, or broken
            await self.rollback()
            if self._plain is not None:
                await self.at_once(Connection.close, is_read=True)
        await super().close()


def _open(settings: StoreSettings) -> sqlite3.Connection:
    # Read and write, but do not create: an empty file has no schema, and nobody chose its mode.
    return sqlite3.connect(
        f"file:{quote(str(settings.path))}?mode=rw",
        uri=True,
        isolation_level=None,  # the driver begins no transactions of its own, which would be deferred ones
        timeout=_BUSY * settings.timeout_ms / 1000,
    )


def _sqlite(settings: StoreSettings, *, is_for_migrations: bool) -> AsyncEngine:
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=str(settings.path)),
        async_creator=lambda: File(settings),
        hide_parameters=True,
        # Every transaction is ended by whoever began it; the pool's own rollback would be one more hop to the thread.
        pool_reset_on_return=None,
        **_pool(settings, is_for_migrations=is_for_migrations),
    )
    foreign_keys = "OFF" if is_for_migrations else "ON"

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", f"foreign_keys={foreign_keys}", "trusted_schema=OFF"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _begin(connection: Connection) -> None:
    # A deferred transaction that turns to writing fails at once when another writes, whatever the timeout.
    is_read = connection.get_execution_options().get(IS_READ, False)
    connection.exec_driver_sql("BEGIN" if is_read else "BEGIN IMMEDIATE")


def _over(raw: sqlite3.Connection) -> Connection:
    """SQLAlchemy's own over a connection that is there. It is never closed: the file's is."""
    engine = create_engine(
        "sqlite://", creator=lambda: raw, poolclass=StaticPool, pool_reset_on_return=None, hide_parameters=True
    )
    event.listen(engine, "begin", _begin)
    return engine.connect()
