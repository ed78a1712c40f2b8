"""The table of lines as an outlet. What it does otherwise is in tests/contract/test_outlet.py."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.lines import line
from real.stores import opened, sqlite_settings

from gateway.audit.chain import Chains, Sealing
from gateway.audit.lines import encode_line
from gateway.audit.outlets.base import OutletDown
from gateway.audit.outlets.postgresql import PostgresqlOutlet
from gateway.audit.reading import Written
from gateway.settings.store import StoreSettings
from gateway.store.audit_lines import audit_lines, lines_of
from gateway.store.database import Database


def _lines(*call_ids: str, tenant: str = "acme") -> list[Written]:
    sealing = Sealing(Chains.begun("w1", 0))
    raw = [sealing.line(encode_line(line(one, tenant=tenant)), tenant) for one in call_ids]
    return [Written(number, one) for number, one in enumerate(raw, 1)]


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """SQLite: the same statements."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        async with database.tenant("acme") as session:
            await session.run(lambda connection: audit_lines.create(connection, checkfirst=True))
        yield database


async def test_lines_that_are_there_are_not_written_twice(database: Database) -> None:
    """After a restart, or when an answer was lost."""
    outlet = PostgresqlOutlet(database)
    lines = _lines("c1", "c2", "c3")
    await outlet.deliver(lines[:2])
    await outlet.deliver(lines)
    async with database.tenant("acme", is_read=True) as session:
        assert await lines_of(session, "w1") == [one.raw for one in lines]


async def test_another_line_under_the_same_number_is_told(database: Database) -> None:
    """Two gateways write under one name: nothing of the batch is taken, and nothing is written over."""
    outlet = PostgresqlOutlet(database)
    await outlet.deliver(_lines("c1"))
    with pytest.raises(OutletDown, match="another line 1 of this gateway's writer"):
        await outlet.deliver(_lines("x1", "x2"))
    async with database.tenant("acme", is_read=True) as session:
        assert await lines_of(session, "w1") == [_lines("c1")[0].raw]


async def test_a_database_that_is_out_is_told(tmp_path: Path) -> None:
    """And one that refuses a tenant."""
    async with opened(StoreSettings(url=f"sqlite:{tmp_path / 'nothing.db'}")) as database:
        with pytest.raises(OutletDown, match="cannot be opened"):
            await PostgresqlOutlet(database).deliver(_lines("c1"))


async def test_a_database_of_its_own_is_closed(database: Database) -> None:
    """The gateway's store is not."""
    await PostgresqlOutlet(database).close()
    await PostgresqlOutlet(database).deliver(_lines("c1"))
    await PostgresqlOutlet(database, is_own=True).close()
