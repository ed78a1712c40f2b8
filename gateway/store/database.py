"""Transactions, each bound to one tenant, each with a deadline over all of it."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Executable, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import CursorResult
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from adapters.base import Clock
from gateway.settings.store import StoreSettings
from gateway.store.batches import Batches
from gateway.store.columns import moment_of
from gateway.store.engines import IS_READ, File, new_engine
from gateway.store.failures import StoreDown, told, translated
from gateway.store.schema import tenants

CLOSING_SECONDS = 1.0
"""How long a caller waits for a connection that was given up to be closed."""

_BOUNDS = """
SELECT set_config('app.tenant', :tenant, true), set_config('transaction_read_only', :is_read, true),
  set_config('statement_timeout', '{milliseconds}', true),
  set_config('idle_in_transaction_session_timeout', '{milliseconds}', true)
"""
"""What holds for one transaction alone: behind PgBouncer a session's settings are the next client's."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Insert = postgresql.Insert | sqlite.Insert


class Session:
    """One transaction of one tenant. Use it inside its `async with` alone.

    On PostgreSQL the database holds it to its tenant; on SQLite there is but one. Statements name the tenant
    all the same, which is what every index begins with.
    """

    def __init__(self, tenant: str, connection: AsyncConnection) -> None:
        self.tenant = tenant
        self._connection = connection

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self._connection.dialect.name

    async def execute(self, statement: Executable, values: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        """What the database answers. `values` are for the parameters of a statement that was made before.

        Raises `StoreDown` and `StoreRefused`; the transaction is over then.
        """
        with translated():
            return await self._connection.execute(statement, values)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What a function of SQLAlchemy's own gives that knows nothing of asyncio. Raises the same."""
        with translated():
            return await self._connection.run_sync(work)


class _Inline(Session):
    """A transaction in a thread of its own, where nothing is waited for but SQLite."""

    def __init__(self, tenant: str, plain: Connection) -> None:
        self.tenant = tenant
        self._plain = plain

    @property
    def dialect(self) -> str:
        """`sqlite`."""
        return self._plain.dialect.name

    async def execute(self, statement: Executable, values: Mapping[str, Any] | None = None) -> CursorResult[Any]:
        """What the database answers. Raises `StoreDown` and `StoreRefused`."""
        with translated():
            return self._plain.execute(statement, values)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """What the function gives. Raises the same."""
        with translated():
            return work(self._plain)


class Work(Protocol[T_co]):
    """What is done in one transaction."""

    def __call__(self, session: Session, /) -> Coroutine[Any, Any, T_co]:
        """Begin it."""
        ...


class Database:
    """Transactions over a pool. Connects when it is first asked. Use it on one loop.

    Every transaction raises `StoreDown` when nobody knows what became of it, which includes that it took longer
    than the settings allow, and `StoreRefused` when a constraint forbids it and nothing was done. Whatever else
    is raised inside one undoes it and goes its way.
    """

    def __init__(self, settings: StoreSettings, clock: Clock) -> None:
        self.settings = settings
        self._clock = clock
        self._seconds = settings.timeout_ms / 1000
        self._engine: AsyncEngine = new_engine(settings, clock)
        self._bounds = text(_BOUNDS.format(milliseconds=int(settings.timeout_ms)))
        self._writing = asyncio.Lock()
        """SQLite: who waits for its one writer here is woken in turn, and who waits in SQLite polls."""
        self._writes = Batches(self._at_once)
        self._reads = Batches(functools.partial(self._at_once, is_read=True))
        self._admitted: set[str] = set()
        self._closing: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def tenant(self, tenant: str, *, is_read: bool = False) -> AsyncIterator[Session]:
        """A transaction that sees and writes this tenant's rows alone; done when the block ends.

        One that `is_read` cannot write, and on SQLite waits for nobody.
        """
        await self.admit(tenant)
        async with self._transaction(tenant, is_read=is_read) as connection:
            yield Session(tenant, connection)

    async def run(self, tenant: str, work: Work[T], *, is_read: bool = False) -> T:
        """What the work gives that is done in one transaction, as in `tenant`. It awaits its session and nothing else:
        on SQLite a thread carries it out in one go, with others that wait, which takes a fraction of the time.
        """
        await self.admit(tenant)
        if not self.settings.is_sqlite:
            async with self._transaction(tenant, is_read=is_read) as connection:
                return await work(Session(tenant, connection))
        batches = self._reads if is_read else self._writes
        async with self._timed():
            return await batches.run(lambda plain: work(_Inline(tenant, plain)))

    async def _at_once(
        self, do: Callable[[Connection], T], is_given_up: Callable[[], bool], *, is_read: bool = False
    ) -> T:
        """What a thread gives, with a connection to the file of SQLite."""
        async with self._bounded(is_read=is_read):
            with translated():
                connection = await self._engine.connect()
            async with self._ended(connection):
                file = (await connection.get_raw_connection()).driver_connection
                assert isinstance(file, File)
                try:
                    return await file.at_once(do, is_read=is_read, is_given_up=is_given_up)
                except StoreDown:
                    # What is left open on the connection, nobody can tell.
                    await self._detached(_abandon(connection))
                    raise

    @contextlib.asynccontextmanager
    async def nobody(self) -> AsyncIterator[Session]:
        """A transaction that reads what belongs to no tenant: the catalogue, the revision, the list of tenants."""
        async with self._transaction("", is_read=True) as connection:
            yield Session("", connection)

    async def admit(self, tenant: str) -> None:
        """There is a row for the tenant, which all its other rows point at.

        Raises `StoreRefused`, of the constraint `one_tenant` when this is SQLite and holds another's rows.
        """
        if tenant in self._admitted:
            return
        async with self._transaction(tenant, is_read=False) as connection:
            session = Session(tenant, connection)
            row = {"tenant": tenant, "registry_version": 0, "created_at": moment_of(self._clock.now())}
            await session.execute(insert(tenants, session.dialect).values(row).on_conflict_do_nothing())
        self._admitted.add(tenant)

    async def close(self) -> None:
        """Close every connection. Harmless when there is none."""
        await asyncio.gather(self._writes.close(CLOSING_SECONDS), self._reads.close(CLOSING_SECONDS))
        if self._closing:
            await asyncio.wait(self._closing, timeout=CLOSING_SECONDS)
        await self._engine.dispose()

    @contextlib.asynccontextmanager
    async def _transaction(self, tenant: str, *, is_read: bool) -> AsyncIterator[AsyncConnection]:
        async with self._bounded(is_read=is_read):
            with translated():
                connection = await self._begun(tenant, is_read=is_read)
            async with self._ended(connection):
                yield connection
                with translated():
                    await connection.commit()

    @contextlib.asynccontextmanager
    async def _bounded(self, *, is_read: bool) -> AsyncIterator[None]:
        """All of a transaction is within its time, waiting for its turn included."""
        async with self._timed(), self._turn(is_read=is_read):
            yield

    @contextlib.asynccontextmanager
    async def _timed(self) -> AsyncIterator[None]:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if not limit.expired():  # the caller's own
                raise
            raise told(error) from error

    async def _begun(self, tenant: str, *, is_read: bool) -> AsyncConnection:
        """A connection whose transaction is the tenant's. One that the server had closed meanwhile is replaced."""
        connection = await self._engine.connect()
        try:
            return await self._entered(connection, tenant, is_read=is_read)
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
        # SQLAlchemy has taken every older one out of the pool as well: this one is new.
        return await self._entered(await self._engine.connect(), tenant, is_read=is_read)

    async def _entered(self, connection: AsyncConnection, tenant: str, *, is_read: bool) -> AsyncConnection:
        async with self._ended(connection, is_kept=True):
            await connection.execution_options(**{IS_READ: is_read})
            await connection.begin()
            if not self.settings.is_sqlite:
                await connection.execute(self._bounds, {"tenant": tenant, "is_read": "on" if is_read else "off"})
        return connection

    def _turn(self, *, is_read: bool) -> contextlib.AbstractAsyncContextManager[None]:
        return self._writing if self.settings.is_sqlite and not is_read else contextlib.nullcontext()

    @contextlib.asynccontextmanager
    async def _ended(self, connection: AsyncConnection, *, is_kept: bool = False) -> AsyncIterator[None]:
        """The connection goes back to the pool, unless it is kept and all went well. What was not done is undone."""
        try:
            yield
        except asyncio.CancelledError:
            # Late, or the caller left. An answer may be on its way that nobody waits for, or none ever.
            await self._detached(_abandon(connection))
            raise
        except BaseException:
            # asyncpg takes a begin that the server refused for a transaction that goes on: each later one would be a
            # savepoint in it, and fail.
            is_spoilt = is_kept and not self.settings.is_sqlite
            await self._detached(_abandon(connection) if is_spoilt else connection.close())
            raise
        if not is_kept:
            await connection.close()

    async def _detached(self, closing: Any) -> None:
        """Closing goes on by itself when it takes long or the caller is cancelled again."""
        task = asyncio.ensure_future(closing)
        self._closing.add(task)
        task.add_done_callback(self._closed)
        await asyncio.wait((task,), timeout=CLOSING_SECONDS)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled():
            task.exception()  # what a dead connection says when it is closed helps nobody


async def _abandon(connection: AsyncConnection) -> None:
    """Ask nothing more on it, not even to undo: a server that does not answer would be waited for."""
    if not connection.invalidated:
        if connection.dialect.name == "sqlite":
            driver: Any = (await connection.get_raw_connection()).driver_connection
            await driver.interrupt()  # what its thread is at ends soon
        await connection.invalidate()
    await connection.close()


def insert(table: Table, dialect: str) -> Insert:
    """An insert that can say what happens when the row is there already."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
