"""Whatever a library raises becomes one of ours, told apart by how it failed, with nothing of its text."""

import sqlite3

import asyncpg
import pytest
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from adapters.base import Fault
from gateway.store.failures import FOREIGN, StoreDown, StoreRefused, told, translated
from gateway.watched import FileUnusable


def _sqlite(words: str) -> OperationalError:
    return OperationalError("SELECT secret", {}, sqlite3.OperationalError(words))


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ConnectionRefusedError(), Fault.REFUSED),
        (OSError("no route"), Fault.REFUSED),
        (ConnectionResetError(), Fault.RESET),
        (asyncpg.ConnectionDoesNotExistError("gone"), Fault.RESET),
        (asyncpg.AdminShutdownError("bye"), Fault.RESET),
        (TimeoutError(), Fault.TIMEOUT),
        (PoolTimeout(), Fault.TIMEOUT),
        (asyncpg.QueryCanceledError("slow"), Fault.TIMEOUT),
        (asyncpg.InvalidPasswordError("secret"), Fault.REFUSED),
        (asyncpg.InsufficientPrivilegeError("permission denied for table calls"), Fault.REFUSED),
        (asyncpg.InvalidCatalogNameError("x"), Fault.REFUSED),
        (asyncpg.UndefinedTableError("x"), Fault.NOT_LOADED),
        (asyncpg.CannotConnectNowError("starting"), Fault.NOT_LOADED),
        (asyncpg.ReadOnlySQLTransactionError("x"), Fault.REFUSED),
        (asyncpg.TooManyConnectionsError("x"), Fault.REFUSED),
        (asyncpg.InternalClientError("?"), Fault.MALFORMED),
        (FileUnusable("/run/pw cannot be read"), Fault.ERROR),
        (_sqlite("database is locked"), Fault.TIMEOUT),
        (_sqlite("no such table: calls"), Fault.NOT_LOADED),
        (_sqlite("unable to open database file"), Fault.REFUSED),
        (_sqlite("file is not a database"), Fault.MALFORMED),
        (_sqlite("database disk image is malformed"), Fault.MALFORMED),
        (_sqlite("attempt to write a readonly database"), Fault.REFUSED),
        (_sqlite("database or disk is full"), Fault.REFUSED),
        (_sqlite("something new"), Fault.ERROR),
        (asyncpg.SyntaxOrAccessError("secret"), Fault.ERROR),
    ],
    ids=repr,
)
def test_each_way_to_fail_has_its_fault(error: Exception, fault: Fault) -> None:
    """And a sentence of ours."""
    assert isinstance(error, FOREIGN)
    failure = told(error)
    assert isinstance(failure, StoreDown)
    assert failure.fault is fault
    assert "secret" not in str(failure)


def test_what_no_driver_foresees_is_an_answer_that_cannot_be_read() -> None:
    """An odd server makes a driver fail in any way at all."""
    with pytest.raises(StoreDown) as caught, translated():
        raise AttributeError("secret")
    assert (caught.value.fault, "secret" in str(caught.value)) == (Fault.MALFORMED, False)


def test_what_lies_beneath_counts() -> None:
    """SQLAlchemy wraps what a driver raises."""
    wrapped = OperationalError("SELECT 1", {}, Exception())
    wrapped.__cause__ = ConnectionResetError()
    failure = told(wrapped)
    assert isinstance(failure, StoreDown)
    assert failure.fault is Fault.RESET


def _broken(cause: BaseException) -> IntegrityError:
    error = IntegrityError("INSERT", {"x": "secret"}, cause)
    error.__cause__ = cause
    return error


def _unique(name: str) -> asyncpg.UniqueViolationError:
    error = asyncpg.UniqueViolationError("Key (x)=(secret) already exists")
    error.constraint_name = name
    return error


@pytest.mark.parametrize(
    ("error", "constraint"),
    [
        (_broken(_unique("pk_calls")), "pk_calls"),
        (_broken(sqlite3.IntegrityError("CHECK constraint failed: ck_calls_state_known")), "ck_calls_state_known"),
        (_broken(sqlite3.IntegrityError("UNIQUE constraint failed: calls.tenant, calls.key")), "calls.tenant"),
        (_broken(sqlite3.IntegrityError("FOREIGN KEY constraint failed")), "a foreign key"),
        (_broken(sqlite3.IntegrityError("this database holds one tenant")), "one_tenant"),
        (
            asyncpg.InsufficientPrivilegeError('new row violates row-level security policy for table "calls"'),
            "row-level security",
        ),
        (_broken(sqlite3.IntegrityError("secret")), ""),
    ],
)
def test_a_constraint_is_named_and_no_value(error: Exception, constraint: str) -> None:
    """The transaction is undone; nobody is in doubt."""
    failure = told(error)
    assert isinstance(failure, StoreRefused)
    assert failure.constraint == constraint
    assert "secret" not in str(failure)


def test_ours_go_their_way() -> None:
    """What one transaction raised inside another is not told twice."""
    down = StoreDown("x", Fault.RESET)
    assert told(down) is down
