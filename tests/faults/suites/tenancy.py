"""Tenancy: 2,000 queries of two tenants by turns, through a pool of size one and through PgBouncer. No foreign row.

The statements name no tenant where they should, as code with a fault in it would.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from fakes.claims import budget, put
from faults.suites.pgbouncer import pgbouncer
from faults.suites.suite import Counts, Form, Records, records_in
from real.postgres import APP, postgres
from real.stores import opened, postgres_settings
from sqlalchemy import delete, select, text, update

from gateway.settings.store import StoreSettings
from gateway.store.database import Database, Session
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.schema import approvals, budgets, calls, connections, tools, writers

TENANTS = ("acme", "rival")
TABLES = (connections, tools, budgets, calls, approvals, writers)
PASSES_BY = "no_row_security"
"""The gateway's role passes by row-level security."""
STAYS = "tenant_of_session"
"""The tenant is set for the session and not for the transaction."""
CLIENTS = 6
"""Connections to PgBouncer, which has one to the database."""
LONG = text("SELECT pg_sleep(0.05)")

Query = Callable[[Database, str], Awaitable[dict[str, Any]]]


async def read(database: Database, tenant: str) -> dict[str, Any]:
    """Every row of every table."""
    async with database.tenant(tenant, is_read=True) as session:
        return {"seen": await _all_tenants(session)}


async def plant(database: Database, tenant: str) -> dict[str, Any]:
    """A row for the other tenant."""
    other = TENANTS[1 - TENANTS.index(tenant)]
    try:
        async with database.tenant(tenant) as session:
            await session.execute(budgets.insert().values(budget(other, name="planted", unit=f"by-{tenant}")))
    except StoreRefused as refused:
        return {"refused": refused.constraint}
    return {"refused": ""}


async def move(database: Database, tenant: str) -> dict[str, Any]:
    """Its own row made the other tenant's."""
    other = TENANTS[1 - TENANTS.index(tenant)]
    try:
        async with database.tenant(tenant) as session:
            await session.execute(update(budgets).values(tenant=other, name="planted", unit=f"from-{tenant}"))
    except StoreRefused as refused:
        return {"refused": refused.constraint}
    return {"refused": ""}


async def change(database: Database, tenant: str) -> dict[str, Any]:
    """An update without a WHERE."""
    async with database.tenant(tenant) as session:
        changed = await session.execute(update(budgets).values(spent=budgets.c.spent + 1).returning(budgets.c.tenant))
        return {"seen": sorted(changed.scalars())}


async def remove(database: Database, tenant: str) -> dict[str, Any]:
    """A delete without a WHERE; its own row is made again."""
    async with database.tenant(tenant) as session:
        removed = await session.execute(delete(budgets).returning(budgets.c.tenant))
        seen = sorted(removed.scalars())
        await session.execute(budgets.insert().values(budget(tenant)))
    return {"seen": seen}


async def after_error(database: Database, tenant: str) -> dict[str, Any]:
    """The other tenant's transaction failed on the connection just before."""
    with contextlib.suppress(StoreDown, StoreRefused):
        async with database.tenant(TENANTS[1 - TENANTS.index(tenant)]) as session:
            await session.execute(text("SELECT 1 / 0"))
    return await read(database, tenant)


async def after_cancel(database: Database, tenant: str) -> dict[str, Any]:
    """The other tenant's transaction was cancelled in the middle of a query."""
    began = asyncio.Event()

    async def cut_off() -> None:
        async with database.tenant(TENANTS[1 - TENANTS.index(tenant)]) as session:
            await session.execute(select(budgets))
            began.set()
            await session.execute(LONG)

    task = asyncio.ensure_future(cut_off())
    await began.wait()
    task.cancel()
    await asyncio.wait((task,))
    return await read(database, tenant)


async def of_nobody(database: Database, _tenant: str) -> dict[str, Any]:
    """Somebody on the same connection who names no tenant: another client of a pooler, then a part of our own."""
    async with database._engine.connect() as other:
        seen = list((await other.execute(select(budgets.c.tenant))).scalars())
    async with database.nobody() as plain:
        return {"seen": seen + await _all_tenants(plain)}


KINDS: Mapping[str, Query] = {
    query.__name__: query for query in (read, plant, move, change, remove, after_error, after_cancel, of_nobody)
}
REFUSED = {plant.__name__, move.__name__}
ALONE = tuple(itertools.product(KINDS, TENANTS))
TOGETHER = tuple(itertools.product(("read", "change", "remove", "plant", "read", "read"), TENANTS))
"""Kind and tenant of queries that follow one another, and of those that wait for the one connection together."""


async def _all_tenants(session: Session) -> list[str]:
    """Whose rows a session sees, once for each table."""
    seen: list[str] = []
    for table in TABLES:
        seen += set((await session.execute(select(table.c.tenant))).scalars())
    return seen


class TenancySuite:
    """See the module."""

    name = "tenancy"
    title = "no row of another tenant is seen, changed, made or removed"
    mutants: tuple[str, ...] = (PASSES_BY, STAYS)

    def needed(self, *, is_quick: bool) -> Mapping[str, int]:
        """By the way to the database."""
        return {"pool": 200} if is_quick else {"pool": 2000, "pgbouncer": 2000}

    async def run(self, folder: Path, form: Form) -> None:
        """Queries one after the other and together, each into the artifact with whose rows it met."""
        with postgres() as server:
            settings = await postgres_settings(server, pool_size=1, timeout_ms=20_000)
            if form.mutant == PASSES_BY:
                server.sql(f"ALTER ROLE {APP} BYPASSRLS")
            counts = self.needed(is_quick=form.is_quick)
            await _queries(folder / "pool.jsonl", settings, counts["pool"], form)
            if "pgbouncer" in counts:
                with pgbouncer(server, settings) as pooled:
                    several = pooled.model_copy(update={"pool_size": CLIENTS})
                    await _queries(folder / "pgbouncer.jsonl", several, counts["pgbouncer"], form)

    def count(self, folder: Path) -> Counts:
        """Every query that met another's row, and every row for another that was not refused."""
        cases, violations = {}, []
        for path in sorted(folder.glob("*.jsonl")):
            found = list(records_in(path))
            cases[path.stem] = len(found)
            violations += [f"{path.stem}: {one}" for one in found if _is_violation(one)]
        return Counts(cases=cases, violations=tuple(violations))


def _is_violation(record: dict[str, Any]) -> bool:
    if record["kind"] in REFUSED:
        return str(record["refused"]) != "row-level security"
    if record["kind"] == of_nobody.__name__:
        return bool(record["seen"])
    # Who sees not even its own rows has proved nothing.
    return set(record["seen"]) != {record["tenant"]}


async def _queries(artifact: Path, settings: StoreSettings, count: int, form: Form) -> None:
    with Records(artifact) as records:
        async with _filled(settings, form) as database:

            async def one(kind: str, tenant: str, *, is_together: bool) -> None:
                met = await KINDS[kind](database, tenant)
                records.add(kind=kind, tenant=tenant, together=is_together, **met)
                form.tick()

            for _ in range(0, count, len(ALONE) + len(TOGETHER)):
                for kind, tenant in ALONE:
                    await one(kind, tenant, is_together=False)
                await asyncio.gather(*(one(kind, tenant, is_together=True) for kind, tenant in TOGETHER))


@contextlib.asynccontextmanager
async def _filled(settings: StoreSettings, form: Form) -> AsyncIterator[Database]:
    """The database with rows of both tenants in it."""
    async with opened(settings) as database:
        for tenant in TENANTS:
            async with database.tenant(tenant) as session:
                # Through PgBouncer it is the same database again.
                if not (await session.execute(select(writers).where(writers.c.tenant == tenant))).all():
                    await put(session, is_asked=True)
        if form.mutant == STAYS:
            database._bounds = text(database._bounds.text.replace(", true)", ", false)"))
        yield database
