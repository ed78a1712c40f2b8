"""What outlives the process: the state directory and the store, opened together and brought to one account."""

import contextlib
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.base import Clock
from gateway.audit.aftermath import Aftermath
from gateway.audit.files import Readable
from gateway.audit.late import LateLines
from gateway.audit.open import Audit, open_audit
from gateway.audit.reading import lines_after
from gateway.errors import Refusal, StartError
from gateway.idempotency.store import StoreKeys
from gateway.settings.load import Settings
from gateway.store import fitness, migrating, tenants
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.isolation import ONE_TENANT
from gateway.store.sealing import Seal


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
        for tenant in await self.every_tenant():
            await self.aftermath.of_others(tenant)

    async def forget_old(self) -> None:
        """Let go of what nobody asks for any more. Raises the same."""
        for tenant in await self.every_tenant():
            await self.aftermath.forget(tenant)


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
        recovered = await aftermath.own(audit.cut_off, named)
    return State(
        audit=audit,
        database=database,
        keys=keys,
        late=LateLines(audit.journal, audit.sink),
        aftermath=aftermath,
        writer=writer,
        recovered=recovered,
    )


async def _prepare(database: Database, clock: Clock, named: Iterable[str]) -> None:
    """The schema is the newest, which a file of our own is brought to, and there is room for every tenant."""
    settings = database.settings
    if settings.is_sqlite and await fitness.problems(database):
        await migrating.upgrade(settings, clock)
    await fitness.check(database)
    for tenant in named:
        await database.admit(tenant)


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
