"""What outlives the process: the state directory and the store, opened together and brought to one account."""

import asyncio
import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.base import Clock
from gateway.audit.aftermath import Aftermath
from gateway.audit.files import Readable
from gateway.audit.late import LateLines
from gateway.audit.open import Audit, open_audit
from gateway.audit.reading import lines_after
from gateway.errors import Refusal, StartError
from gateway.idempotency.store import StoreKeys
from gateway.keeping import for_each
from gateway.settings.load import Settings
from gateway.store import fitness, migrating, tenants
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.isolation import ONE_TENANT
from gateway.store.sealing import Seal

LAST_WORDS_SECONDS = 2.0
"""How long the end waits for a store that has not heard everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Journal, lines, keys: ready for calls."""

    audit: Audit
    database: Database
    keys: StoreKeys
    late: LateLines
    aftermath: Aftermath
    writer: str
    """What the store calls this process."""
    recovered: int
    """How many calls a crash had cut off; each has its line now."""

    async def every_tenant(self) -> list[str]:
        """Whose rows there are. Raises `StoreDown`."""
        async with self.database.nobody() as session:
            return await tenants.known(session)

    async def look_after_others(self) -> None:
        """Close what gateways left that are gone. Raises `StoreDown`, `StoreRefused` and `Refusal`."""
        await for_each(await self.every_tenant(), self.aftermath.of_others)

    async def forget_old(self) -> None:
        """Let go of what nobody asks for any more. Raises the same."""
        await for_each(await self.every_tenant(), self.aftermath.forget)

    async def last_words(self) -> None:
        """Tell the store what it is still owed, and write the lines that waited for that, as far as there is time.
        Never raises: the next start does the rest.
        """
        if not (self.keys.owed or self.late.waiting):
            return
        with contextlib.suppress(TimeoutError, StoreDown, StoreRefused):
            async with asyncio.timeout(LAST_WORDS_SECONDS):
                await self.late.tick()
                await self.keys.mend()


async def open_state(
    stack: contextlib.AsyncExitStack,
    settings: Settings,
    *,
    database: Database,
    seal: Seal,
    clock: Clock,
    active: Callable[[], int],
) -> State:
    """The state of these settings, which the stack closes. Every call that a crash cut off has its line.

    Raises `StartError`: another gateway uses the directory, the store cannot be used, or one of them cannot be
    trusted.
    """
    audit = open_audit(settings.state_dir, settings.audit, clock, active)
    stack.push_async_callback(audit.close)
    stack.push_async_callback(database.close)
    writer = f"{audit.writer}.{secrets.token_hex(4)}"
    keys = StoreKeys(database, writer=writer, clock=clock, seal=seal)
    aftermath = Aftermath(
        journal=audit.journal,
        sink=audit.sink,
        database=database,
        family=audit.writer,
        writer=writer,
        clock=clock,
        find_lines=lambda call_ids: _lines_of(audit.line_files, call_ids),
    )
    named = settings.named_tenants
    with _started(database):
        await _prepare(database, clock, named)
        if database.settings.is_sqlite:
            stack.callback(_hold(database.settings.path))
        recovered = await aftermath.own(audit.cut_off, named)
    state = State(
        audit=audit,
        database=database,
        keys=keys,
        late=LateLines(audit.journal, audit.sink),
        aftermath=aftermath,
        writer=writer,
        recovered=recovered,
    )
    stack.push_async_callback(state.last_words)
    return state


async def _prepare(database: Database, clock: Clock, named: Iterable[str]) -> None:
    """The schema is the newest, which a file of our own is brought to, and there is room for every tenant."""
    settings = database.settings
    if settings.is_sqlite and await fitness.problems(database):
        await migrating.upgrade(settings, clock)
    await fitness.check(database)
    for tenant in named:
        await database.admit(tenant)


def _hold(path: Path) -> Callable[[], None]:
    """Nobody else opens this file of SQLite until what comes back is called, or the process ends. Raises `StartError`.

    Two gateways with state directories of their own would each take themselves for the only one.
    """
    try:
        held = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StartError(f"the store cannot be used: {path}.lock cannot be opened ({error.strerror})") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(held)
        message = f"another gateway uses {path}; stop it, or use PostgreSQL for several (`store` in the settings)"
        raise StartError(message) from error
    return lambda: os.close(held)


@contextlib.contextmanager
def _started(database: Database) -> Iterator[None]:
    """Whatever is wrong with the store, in one sentence."""
    try:
        yield
    except StoreDown as down:
        raise StartError(f"the store cannot be used: {down}; nothing is served without it") from down
    except StoreRefused as refused:
        if refused.constraint == ONE_TENANT:
            message = f"SQLite holds one tenant, and {database.settings.path} or the settings name another one"
            raise StartError(f"{message}; use PostgreSQL for several (`store` in the settings)") from refused
        raise StartError(f"the store cannot be used: {refused}") from refused
    except Refusal as refusal:
        raise StartError(f"calls from before cannot be accounted for: {refusal.message}") from refusal


def _lines_of(files: Readable, call_ids: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """Every line of these calls. Reads all files: asked after a crash of the machine alone."""
    return (line for line in lines_after(files, 0) if line["call_id"] in call_ids)
