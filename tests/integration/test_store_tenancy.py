"""A tenant's rows are out of another's reach: on PostgreSQL by the database itself, on SQLite by there being one.

The statements here name no tenant where they should, as code with a fault in it would.
"""

import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.claims import (
    LATER,
    NOW,
    access_token,
    approval,
    budget,
    connection,
    decision,
    event,
    event_id,
    parked,
    put,
    tool,
)
from real.postgres import Postgres
from real.stores import opened, postgres_settings, sqlite_settings
from sqlalchemy import Delete, Insert, Update, delete, select, text, update

from gateway.settings.store import StoreSettings
from gateway.store.columns import metadata
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.schema import (
    APPEND_ONLY,
    TENANT_TABLES,
    access_tokens,
    approval_decisions,
    approvals,
    budgets,
    calls,
    connections,
    event_heads,
    event_ids,
    events,
    tenants,
    tools,
    writers,
)


@pytest.fixture
async def settings(server: Postgres) -> StoreSettings:
    """A database in it."""
    return await postgres_settings(server)


@pytest.fixture
async def database(settings: StoreSettings) -> AsyncIterator[Database]:
    """Two tenants' rows in it, the gateway's own role, and one connection for all."""
    async with opened(settings.model_copy(update={"pool_size": 1})) as database:
        for tenant in ("acme", "rival"):
            async with database.tenant(tenant) as session:
                await put(session, is_asked=True)
        yield database


@pytest.mark.parametrize("name", [name for name in TENANT_TABLES if name != "tenants"])
async def test_another_tenants_rows_are_not_seen(database: Database, name: str) -> None:
    """By no query; nobody's are seen by nobody."""
    table = metadata.tables[name]
    async with database.tenant("acme", is_read=True) as session:
        assert {row.tenant for row in await session.execute(select(table))} <= {"acme"}
    async with database.nobody() as plain:
        assert (await plain.execute(select(table))).all() == []


async def test_that_there_are_tenants_is_all_that_others_learn(database: Database) -> None:
    """A gateway watches the registries of all of them; it changes its tenant's alone."""
    async with database.tenant("acme") as session:
        assert set((await session.execute(select(tenants.c.tenant))).scalars()) == {"acme", "rival"}
        assert (await session.execute(update(tenants).values(registry_version=9))).rowcount == 1


@pytest.mark.parametrize(
    "statement",
    [
        update(budgets).values(spent=1_000),
        delete(tools),
        update(approvals).values(needed=1),
        delete(writers),
        update(access_tokens).values(version=9),
        delete(access_tokens),
        update(event_heads).values(floor=1),
        delete(events),
    ],
    ids=str,
)
async def test_another_tenants_rows_are_not_changed(database: Database, statement: Update | Delete) -> None:
    """A statement without a WHERE reaches the tenant's own."""
    table = statement.table
    async with database.tenant("rival", is_read=True) as session:
        before = (await session.execute(select(table))).all()
    is_refused = statement.is_delete and table is writers  # its own claims point at it
    if is_refused:
        with pytest.raises(StoreRefused):
            async with database.tenant("acme") as session:
                await session.execute(statement)
    else:
        async with database.tenant("acme") as session:
            assert (await session.execute(statement)).rowcount == 1
    async with database.tenant("rival", is_read=True) as session:
        assert (await session.execute(select(table))).all() == before


@pytest.mark.parametrize(
    "statement",
    [
        connections.insert().values(connection("rival", "planted")),
        tools.insert().values(tool("rival", "planted")),
        budgets.insert().values(budget("rival", name="planted")),
        calls.insert().values(parked("rival", "planted")),
        access_tokens.insert().values(access_token("rival", connection="planted")),
        events.insert().values(event("rival", number=2, event_id="planted")),
        event_ids.insert().values(event_id("rival", "planted")),
        update(event_heads).values(tenant="third"),
        tenants.insert().values(tenant="third", registry_version=0, created_at=NOW),
        update(budgets).values(tenant="rival", name="moved"),
        update(tools).values(tenant="rival", name="moved", connection=None),
        update(tenants).values(tenant="third"),
    ],
    ids=lambda statement: f"{statement.__visit_name__} {statement.table}",
)
async def test_no_row_is_made_for_another_tenant_or_moved_to_it(database: Database, statement: Insert | Update) -> None:
    """The database refuses it, by policy."""
    with pytest.raises(StoreRefused) as caught:
        async with database.tenant("acme") as session:
            await session.execute(statement)
    assert caught.value.constraint == "row-level security"


@pytest.mark.parametrize(
    "statement",
    [
        tools.insert().values(tool("acme", "reaching", connection="only-of-rival")),
        calls.insert().values(parked("acme", "reaching", writer="only-of-rival", key="x")),
        approvals.insert().values(approval("acme", "reaching", call_id="only-of-rival")),
        approval_decisions.insert().values(decision("acme", approval_id="only-of-rival", person="bob")),
        events.insert().values(event("acme", number=2, event_id="only-of-rival")),
    ],
    ids=lambda statement: str(statement.table),
)
async def test_no_row_points_at_another_tenants(database: Database, statement: Insert) -> None:
    """Foreign keys are checked past row-level security, so that the tenant is in every one of them."""
    only = "only-of-rival"
    async with database.tenant("rival") as session:
        await session.execute(connections.insert().values(connection("rival", only)))
        await session.execute(writers.insert().values(tenant="rival", writer=only, started_at=NOW, lease_until=LATER))
        await session.execute(calls.insert().values(parked("rival", only, key="x")))
        await session.execute(approvals.insert().values(approval("rival", only, call_id=only)))
        await session.execute(event_ids.insert().values(event_id("rival", only)))
    with pytest.raises(StoreRefused) as caught:
        async with database.tenant("acme") as session:
            await session.execute(statement)
    assert caught.value.constraint.startswith("fk_")


def test_every_key_starts_with_the_tenant() -> None:
    """Primary, foreign, unique and every index: without it one would tell of, or reach, another's rows."""
    for table in metadata.tables.values():
        assert next(iter(table.primary_key.columns)).name == "tenant"
        for key in table.foreign_key_constraints:
            assert key.column_keys[0] == "tenant"
            assert key.elements[0].column.name == "tenant"
        for index in table.indexes:
            assert next(iter(index.columns)).name == "tenant"


async def test_five_hundred_transactions_by_turns_on_one_connection(database: Database) -> None:
    """Each sees its own tenant's rows alone, whoever had the connection before."""
    foreign = 0
    for tenant in itertools.islice(itertools.cycle(("acme", "rival", "")), 501):
        if not tenant:
            async with database.nobody() as plain:
                foreign += len((await plain.execute(select(budgets))).all())
            continue
        async with database.tenant(tenant, is_read=True) as session:
            seen = {row.tenant for row in await session.execute(select(budgets))}
        foreign += len(seen - {tenant})
        assert tenant in seen
    assert foreign == 0


async def test_no_tenant_stays_with_a_connection(database: Database) -> None:
    """A pooler gives it to another client, who has not said whose it is."""
    async with database.tenant("acme", is_read=True) as session:
        await session.execute(select(budgets))
    async with database._engine.connect() as connection:
        assert (await connection.execute(text("SELECT current_setting('app.tenant', true)"))).scalar() in {"", None}
        assert (await connection.execute(text("SHOW statement_timeout"))).scalar() == "0"
        assert (await connection.execute(select(budgets))).all() == []


@pytest.mark.parametrize("name", sorted(APPEND_ONLY))
async def test_what_is_written_once_is_never_changed(database: Database, name: str) -> None:
    """The gateway's role has no right to."""
    table = metadata.tables[name]
    for statement in (delete(table), table.update().values(tenant="acme"), text(f"TRUNCATE {name}")):
        with pytest.raises(StoreDown):
            async with database.tenant("acme") as session:
                await session.execute(statement)


class TestSqlite:
    """There is one tenant."""

    @pytest.fixture
    async def settings(self, tmp_path: Path) -> StoreSettings:
        """A file."""
        return await sqlite_settings(tmp_path)

    async def test_a_second_tenant_is_refused(self, settings: StoreSettings) -> None:
        """Also by another process, and after a restart."""
        for _ in range(2):
            async with opened(settings) as database:
                await database.admit("acme")
                with pytest.raises(StoreRefused) as caught:
                    async with database.tenant("rival"):
                        pass
                assert caught.value.constraint == "one_tenant"

    async def test_no_row_is_another_tenants(self, settings: StoreSettings) -> None:
        """The database itself refuses it: there is no tenant that it could belong to."""
        async with opened(settings) as database:
            for statement in (
                budgets.insert().values(budget("rival")),
                connections.insert().values(connection("rival")),
                update(tenants).values(tenant="rival"),
            ):
                with pytest.raises(StoreRefused):
                    async with database.tenant("acme") as session:
                        await session.execute(statement)
