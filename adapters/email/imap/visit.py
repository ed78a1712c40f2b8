"""One IMAP connection for one call: opened, signed in, used, and let go."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened, Secret
from adapters.email.account import Account, Server
from adapters.email.imap.failures import SlowConnect, Step, failure_of
from adapters.email.imap.pipe import Pipe
from adapters.email.imap.session import Session

T = TypeVar("T")

CONNECT_SECONDS = 10.0
"""The longest to wait for a connection, and again for its greeting."""
MAX_CALL_BYTES = 8 * 1024 * 1024
"""How much is read in one call."""


async def in_session(
    account: Account,
    credential: Secret | None,
    tls: ssl.SSLContext,
    clock: Clock,
    deadline: float,
    work: Callable[[Session], Awaitable[T]],
) -> T:
    """What `work` makes of a session that is signed in. The connection is let go in every case.

    Raises `AdapterError` alone; whatever `work` raises is mapped as well.
    """
    progress = _Progress()
    try:
        async with asyncio.timeout(_left(clock, deadline)):
            return await _converse(account, credential, tls, progress, work)
    except Exception as error:  # noqa: BLE001 - all of them are mapped
        failure = failure_of(error, progress.session.step if progress.session else Step.CONNECT)
    finally:
        if progress.pipe is not None:
            progress.pipe.abort()
    # Raised outside the except block, so that what a server said is neither cause nor context of it.
    raise failure


@dataclass(slots=True)
class _Progress:
    pipe: Pipe | None = None
    session: Session | None = None


async def _converse(
    account: Account,
    credential: Secret | None,
    tls: ssl.SSLContext,
    progress: _Progress,
    work: Callable[[Session], Awaitable[T]],
) -> T:
    server, value = server_of(account), _usable(credential)
    progress.pipe = await _connected(server, tls)
    progress.session = session = await _greeted(progress.pipe)
    if server.tls == "starttls":
        await session.secure(server.host, tls)
    await session.sign_in(account, value)
    done = await work(session)
    session.leave()
    return done


async def _connected(server: Server, tls: ssl.SSLContext) -> Pipe:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            context = tls if server.tls == "implicit" else None
            return await Pipe.connect(server.host, server.port, context, MAX_CALL_BYTES)
    except TimeoutError as error:
        raise SlowConnect from error


async def _greeted(pipe: Pipe) -> Session:
    session = Session(pipe)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await session.greeting()
    except TimeoutError as error:
        raise SlowConnect from error
    return session


def _left(clock: Clock, deadline: float) -> float:
    """How many seconds there are. Raises TimeoutError when there are none: then not even a connection is tried."""
    seconds = deadline - clock.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def server_of(account: Account) -> Server:
    """Where the account is read. Raises `AdapterError` when it is one that only sends."""
    if account.imap is None:
        raise _no(
            ErrorKind.UNAVAILABLE, "The mail connection is not set up for reading; its operator can add imap_host."
        )
    return account.imap


def _usable(credential: Secret | None) -> str:
    if credential is None:
        raise _no(ErrorKind.NEEDS_AUTHORISATION, "The mail connection has no credential.")
    value = credential.reveal()
    if not value or not value.isprintable():
        raise _no(ErrorKind.NEEDS_AUTHORISATION, "The connection's credential cannot be used as a password.")
    return value


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO, fault=Fault.REFUSED)
