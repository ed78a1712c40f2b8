"""What the store raises. Nothing of SQLAlchemy or of a driver leaves this package."""

import contextlib
import re
from collections.abc import Iterator

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from adapters.base import Fault
from gateway.store.framing import NotPostgres
from gateway.store.isolation import ONE_TENANT, ONE_TENANT_MESSAGE
from gateway.watched import FileUnusable


class StoreDown(Exception):  # noqa: N818 - named for what it is
    """Nobody knows whether the transaction was done. One sentence for operators, without data in it."""

    def __init__(self, sentence: str, fault: Fault) -> None:
        super().__init__(sentence)
        self.fault = fault


class StoreRefused(Exception):  # noqa: N818 - a constraint that holds is no error of the store
    """A constraint forbids what was to be written; nothing was. `constraint` names it where the database says."""

    def __init__(self, constraint: str) -> None:
        super().__init__(f"the store refuses this: {constraint or 'a constraint does not hold'}")
        self.constraint = constraint


def told(error: Exception) -> StoreDown | StoreRefused:
    """What an error is to us, most specific first. Nothing of its text is kept but a constraint's name."""
    if isinstance(error, StoreDown | StoreRefused):
        return error
    causes = tuple(_causes(error))
    if isinstance(error, IntegrityError) or _is_denied(causes):
        return StoreRefused(_constraint(causes))
    for kinds, sentence, fault in _KINDS:
        if any(isinstance(cause, kinds) for cause in causes):
            return StoreDown(sentence, fault)
    for words, sentence, fault in _OF_SQLITE:
        if any(words in str(cause) for cause in causes):
            return StoreDown(sentence, fault)
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return StoreDown("the database closed the connection", Fault.RESET)
    # What a driver does not foresee of an answer comes as any exception at all.
    fault = Fault.ERROR if isinstance(error, FOREIGN) else Fault.MALFORMED
    return StoreDown(f"the database cannot be used ({type(causes[-1]).__name__})", fault)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Whatever is raised in here is told as one of ours. For what a library does, with nothing of a caller's in it."""
    try:
        yield
    except Exception as error:
        raise told(error) from error


_Kinds = tuple[tuple[tuple[type[BaseException], ...], str, Fault], ...]
_KINDS: _Kinds = (
    ((NotPostgres,), "the database's answer cannot be read", Fault.MALFORMED),
    ((FileUnusable,), "the password file of the database cannot be read", Fault.ERROR),
    (
        (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InsufficientPrivilegeError),
        "the database refuses our user",
        Fault.REFUSED,
    ),
    ((asyncpg.InvalidCatalogNameError,), "there is no such database on the server", Fault.REFUSED),
    ((asyncpg.UndefinedTableError,), "the database has no schema; run `tollhouse db upgrade`", Fault.NOT_LOADED),
    ((asyncpg.CannotConnectNowError,), "the database is starting or ending", Fault.NOT_LOADED),
    ((asyncpg.TooManyConnectionsError,), "the database takes no more connections", Fault.REFUSED),
    ((asyncpg.QueryCanceledError, PoolTimeout, TimeoutError), "the database did not answer in time", Fault.TIMEOUT),
    ((asyncpg.ReadOnlySQLTransactionError,), "the database takes no writes", Fault.REFUSED),
    (
        (ConnectionResetError, BrokenPipeError, asyncpg.ConnectionDoesNotExistError, asyncpg.AdminShutdownError),
        "the database closed the connection",
        Fault.RESET,
    ),
    ((asyncpg.InternalClientError,), "the database's answer cannot be read", Fault.MALFORMED),
    ((ConnectionError, OSError), "the database cannot be reached", Fault.REFUSED),
)
_OF_SQLITE: tuple[tuple[str, str, Fault], ...] = (
    ("database is locked", "the database did not answer in time", Fault.TIMEOUT),
    ("no such table", "the database has no schema; run `tollhouse db upgrade`", Fault.NOT_LOADED),
    ("unable to open", "the database file cannot be opened", Fault.REFUSED),
    ("is not a database", "the file is no SQLite database", Fault.MALFORMED),
    ("malformed", "the database file is damaged", Fault.MALFORMED),
    ("readonly", "the database takes no writes", Fault.REFUSED),
    ("is full", "the disk of the database is full", Fault.REFUSED),
)
FOREIGN = (
    SQLAlchemyError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
    FileUnusable,
)
"""What a library raises by name. Of what a caller does, anything else is its own and goes its way."""

_POLICY = re.compile(r"violates row-level security policy")
_NAMED = re.compile(r"(?:CHECK|UNIQUE) constraint failed: ([a-z_][a-z_0-9.]*)")


def _is_denied(causes: tuple[BaseException, ...]) -> bool:
    """Whether row-level security forbids the row: it has the same SQLSTATE as a missing grant."""
    return any(isinstance(c, asyncpg.InsufficientPrivilegeError) and _POLICY.search(str(c)) for c in causes)


def _constraint(causes: tuple[BaseException, ...]) -> str:
    if _is_denied(causes):
        return "row-level security"
    for cause in causes:
        if isinstance(cause, asyncpg.IntegrityConstraintViolationError):
            return str(cause.constraint_name or "")
        if found := _NAMED.search(str(cause)):
            return found[1]
        if ONE_TENANT_MESSAGE in str(cause):
            return ONE_TENANT
    return "a foreign key" if any("FOREIGN KEY" in str(cause) for cause in causes) else ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
