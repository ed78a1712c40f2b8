"""The table of lines on a real PostgreSQL: a tenant's own, inserted and never changed."""

from collections.abc import AsyncIterator

import pytest
from real.postgres import APP, OWNER, Postgres
from real.stores import opened, postgres_settings
from sqlalchemy import text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from gateway.store.audit_lines import HeldLine, audit_lines, hold, lines_of
from gateway.store.database import Database
from gateway.store.failures import StoreDown
from gateway.store.isolation import row_level_security


@pytest.fixture
async def database(server: Postgres) -> AsyncIterator[Database]:
    """With the table in it."""
    settings = await postgres_settings(server)
    name = settings.server[2]
    if server.sql("SELECT to_regclass('audit_lines')", database=name) == "":
        create = str(CreateTable(audit_lines).compile(dialect=postgresql.dialect()))
        grants = f"ALTER TABLE audit_lines OWNER TO {OWNER}; GRANT SELECT, INSERT ON audit_lines TO {APP}"
        server.sql(create, *row_level_security(["audit_lines"])[:-1], grants, database=name)
    async with opened(settings) as database:
        yield database


def _line(seq: int, tenant: str = "acme", digest: str = "") -> HeldLine:
    text = f"{tenant} {seq}"
    return HeldLine(tenant, "w1", seq, 10 * seq, digest or text, text.encode())


async def test_lines_are_held_once_and_in_order(database: Database) -> None:
    """As bytes; what is there already is left alone."""
    async with database.tenant("acme") as session:
        assert await hold(session, [_line(2), _line(1)]) == 0
        assert await hold(session, [_line(2), _line(3)]) == 0
    async with database.tenant("acme", is_read=True) as session:
        assert await lines_of(session, "w1") == [b"acme 1", b"acme 2", b"acme 3"]
        assert await lines_of(session, "w1", after=2) == [b"acme 3"]
        assert await lines_of(session, "w2") == []


async def test_another_line_under_a_number_is_found(database: Database) -> None:
    """By its hash."""
    async with database.tenant("acme") as session:
        assert await hold(session, [_line(1)]) == 0
        assert await hold(session, [_line(1, digest="other"), _line(2)]) == 1


async def test_a_tenants_lines_are_not_anothers(database: Database) -> None:
    """The database itself sees to that, also for what is written."""
    for tenant in ("acme", "other"):
        async with database.tenant(tenant) as session:
            assert await hold(session, [_line(1, tenant)]) == 0
    async with database.tenant("acme", is_read=True) as session:
        found = await session.execute(text("SELECT tenant FROM audit_lines"))
        assert [row.tenant for row in found] == ["acme"]


@pytest.mark.parametrize("statement", ["UPDATE audit_lines SET hash = ''", "DELETE FROM audit_lines"])
async def test_the_gateways_role_can_neither_change_nor_delete(database: Database, statement: str) -> None:
    """Nor whoever has its password."""
    with pytest.raises(StoreDown, match="refuses our user"):
        async with database.tenant("acme") as session:
            await session.execute(text(statement))


def test_a_line_shows_nothing_of_itself() -> None:
    """It may end in a log."""
    assert repr(_line(7)) == "HeldLine(w1, 7)"
