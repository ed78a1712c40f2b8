"""The rows of events by themselves (`tests/contract/test_events.py` has them on both databases)."""

from pathlib import Path

from fakes.events import arrived
from real.stores import opened, sqlite_settings

from gateway.store import events as rows
from gateway.store.columns import moment_of
from gateway.store.events import Head


async def test_no_text_of_a_row_shows_its_content(tmp_path: Path) -> None:
    """It is sealed, and long."""
    assert "sealed" not in repr(arrived())
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await rows.keep(session, arrived())
        assert (await rows.read(session, [1]))[1] == arrived()


async def test_a_tenant_without_events_has_an_empty_page(tmp_path: Path) -> None:
    """And nothing to forget."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        assert await rows.head(session) == Head()
        assert await rows.page(session, 0, ["tracker"], 10) == rows.Page(head=Head(), events=())
        assert await rows.read(session, []) == {}
        assert await rows.forget(session, before=moment_of(2e9), most=0, limit=10) == 0
        assert await rows.forget_ids(session, moment_of(2e9), 10) == 0
