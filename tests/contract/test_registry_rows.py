"""Rows of the registry, what is stopped and the health of accounts: the same on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import pytest
from real.postgres import Postgres
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.clock import SystemClock
from gateway.errors import Refused, RefusedKind
from gateway.settings.store import StoreSettings
from gateway.store import health, rows, stops
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.failures import StoreRefused
from gateway.store.notices import Notices
from gateway.store.rows import NewRow, RowKind
from gateway.store.stops import Stop, StopScope

NOW = moment_of(1_767_225_600.0)
LATER = moment_of(1_767_225_700.0)


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path)
    return await postgres_settings(request.getfixturevalue("server"), timeout_ms=5000)


@pytest.fixture
async def database(settings: StoreSettings) -> AsyncIterator[Database]:
    """That database."""
    async with opened(settings) as made:
        yield made


def row(kind: RowKind = RowKind.CONNECTION, name: str = "mail", **changes: Any) -> NewRow:
    """A row that is to be put."""
    usual: dict[str, Any] = {"kind": kind, "name": name, "document": b'{"name":"mail"}', "by": "ann", "at": NOW}
    return NewRow(**{**usual, **changes})


async def put(session: Session, new: NewRow) -> None:
    """A row that is not there."""
    await rows.create(session, new.kind, [new])


async def refused(doing: Awaitable[None]) -> RefusedKind:
    """How it is refused."""
    with pytest.raises(Refused) as caught:
        await doing
    return caught.value.kind


async def test_a_row_comes_back_as_it_was_put(database: Database) -> None:
    """Byte for byte, with who put it and when; its version counts from 1."""
    async with database.tenant("acme") as session:
        assert await rows.get(session, RowKind.CONNECTION, "mail") is None
        await put(session, row())
    async with database.tenant("acme", is_read=True) as session:
        found = await rows.get(session, RowKind.CONNECTION, "mail")
    assert found is not None
    assert (found.label, found.version, found.document) == ("connection/mail", 1, b'{"name":"mail"}')
    assert (found.updated_by, found.updated_at) == ("ann", NOW)


async def test_a_row_is_changed_from_the_version_that_was_seen(database: Database) -> None:
    """And from no other; one that is not there is not changed, and one that is there is not made."""
    async with database.tenant("acme") as session:
        assert await refused(rows.change(session, row(), expected=3)) is RefusedKind.NOT_FOUND
        await put(session, row())
        assert await refused(put(session, row())) is RefusedKind.CONFLICT
        assert await refused(rows.change(session, row(), expected=2)) is RefusedKind.CONFLICT
        await rows.change(session, row(document=b"{}", by="bob", at=LATER), expected=1)
        found = await rows.get(session, RowKind.CONNECTION, "mail")
        assert found is not None
        assert (found.version, found.document, found.updated_by, found.updated_at) == (2, b"{}", "bob", LATER)


async def test_many_rows_are_made_and_taken_away(database: Database) -> None:
    """More than one statement may hold; of rows that are taken away each is there."""
    names = [f"a{number:04}" for number in range(1100)]
    async with database.tenant("acme") as session:
        await rows.create(session, RowKind.AGENT, [row(RowKind.AGENT, name) for name in names])
        assert [one.name for one in await rows.every(session)] == names
        again = [row(RowKind.AGENT, "new"), row(RowKind.AGENT, names[700])]
        assert await refused(rows.create(session, RowKind.AGENT, again)) is RefusedKind.CONFLICT
    async with database.tenant("acme") as session:
        await rows.remove(session, RowKind.AGENT, names[1:])
        assert await refused(rows.remove(session, RowKind.AGENT, [names[0], "x"])) is RefusedKind.NOT_FOUND
        await rows.create(session, RowKind.AGENT, [])
        await rows.remove(session, RowKind.AGENT, [])


async def test_a_tool_needs_its_connection(database: Database) -> None:
    """The database itself refuses to lose it."""
    tool = row(RowKind.TOOL, "send", connection="mail")
    with pytest.raises(StoreRefused):
        async with database.tenant("acme") as session:
            await put(session, tool)
    async with database.tenant("acme") as session:
        await put(session, row())
        await put(session, tool)
    with pytest.raises(StoreRefused):
        async with database.tenant("acme") as session:
            await rows.remove(session, RowKind.CONNECTION, ["mail"])


async def test_all_rows_are_listed_in_order(database: Database) -> None:
    """Of all kinds, or page by page; health stands on connections alone."""
    async with database.tenant("acme") as session:
        for kind in rows.TO_PUT:
            for name in ("b", "a"):
                await put(session, row(kind, name, connection="a"))
        every = await rows.every(session)
        labels = [one.label for one in every]
        assert labels == ["agent/a", "agent/b", "connection/a", "connection/b", "tool/a", "tool/b"]
        assert [one.health is not None for one in every] == [False, False, True, True, False, False]
        paged, after = [], None
        while found := await rows.page(session, tuple(RowKind), after=after, limit=2):
            paged += [one.label for one in found]
            after = (found[-1].kind.value, found[-1].name)
        assert paged == labels
        (only,) = await rows.page(session, (RowKind.TOOL,), after=("tool", "a"), limit=9)
        assert only.label == "tool/b"


async def test_the_version_of_a_registry_rises_by_one(database: Database) -> None:
    """Only from where it should be, when that is said."""
    async with database.tenant("acme") as session:
        before = await rows.version(session)
        assert await rows.raise_version(session) == before + 1
        assert await rows.raise_version(session, only_from=before) is None
        assert await rows.raise_version(session, only_from=before + 1) == before + 2
    async with database.nobody() as session:
        assert await rows.versions(session) == {"acme": before + 2}


async def test_of_many_changes_at_once_each_sees_the_one_before(database: Database) -> None:
    """Whoever raises the version holds the registry until its transaction is done."""
    async with database.tenant("acme") as session:
        await put(session, row())
        at = await rows.version(session)

    async def change() -> bool:
        async with database.tenant("acme") as session:
            return await rows.raise_version(session, only_from=at) is not None

    assert sum(await asyncio.gather(*(change() for _ in range(8)))) == 1


async def test_a_change_that_is_undone_leaves_nothing(database: Database) -> None:
    """Neither the row nor the version."""

    async def change() -> None:
        async with database.tenant("acme") as session:
            await rows.raise_version(session)
            await put(session, row())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await change()
    async with database.tenant("acme") as session:
        assert (await rows.version(session), await rows.every(session)) == (0, ())


async def test_what_is_stopped_is_told_until_it_is_cleared(database: Database) -> None:
    """A second stop of one thing replaces the first; clearing it twice is told."""
    first = Stop(scope=StopScope.TOOL, name="send", reason="leak", set_by="ann", set_at=NOW)
    second = Stop(scope=StopScope.TOOL, name="send", reason="worse", set_by="bob", set_at=LATER)
    whole = Stop(scope=StopScope.TENANT, name="", reason="all", set_by="bob", set_at=LATER)
    async with database.tenant("acme") as session:
        for stop in (first, whole, second):
            await stops.put(session, stop)
        assert await stops.every(session) == (whole, second)
        assert await stops.clear(session, StopScope.TOOL, "send")
        assert not await stops.clear(session, StopScope.TOOL, "send")
        assert await stops.every(session) == (whole,)


async def health_of(session: Session) -> rows.Health:
    """That of the one connection."""
    found = await rows.get(session, RowKind.CONNECTION, "mail")
    assert found is not None
    assert found.health is not None
    return found.health


async def test_the_newest_is_known_of_an_account(database: Database) -> None:
    """Whichever replica tells first. It is no change of the row, and a changed row is a new account."""
    async with database.tenant("acme") as session:
        await put(session, row())
        await health.failed(session, "mail", LATER, "connection_needs_authorisation", needs_authorisation=True)
        await health.succeeded(session, "mail", NOW)
        assert await health_of(session) == rows.Health(
            last_success_at=NOW,
            last_error_at=LATER,
            last_error="connection_needs_authorisation",
            needs_authorisation=True,
        )
        await health.failed(session, "mail", NOW, "vendor_refused", needs_authorisation=False)
        assert (await health_of(session)).last_error == "connection_needs_authorisation"
        await rows.change(session, row(), expected=1)
        assert not (await health_of(session)).needs_authorisation
        await health.failed(session, "mail", moment_of(LATER.timestamp() + 1), "x", needs_authorisation=True)
        await health.succeeded(session, "mail", moment_of(LATER.timestamp() + 2))
        assert not (await health_of(session)).needs_authorisation
        await health.succeeded(session, "gone", NOW)


async def test_rows_of_another_tenant_do_not_exist(server: Postgres) -> None:
    """They are not found, and not in the way."""
    async with opened(await postgres_settings(server)) as database:
        async with database.tenant("acme") as session:
            await put(session, row())
        async with database.tenant("rival") as session:
            assert await rows.every(session) == ()
            await put(session, row())
            with pytest.raises(Refused):
                await rows.remove(session, RowKind.CONNECTION, ["nothing"])
            assert await rows.version(session) == 0
        with pytest.raises(StoreRefused):
            async with database.tenant("rival") as session:
                await put(session, row(RowKind.TOOL, "send", connection="none"))


async def test_a_change_is_told_to_who_listens(server: Postgres) -> None:
    """Once it is done; and after every new connection, since nobody knows what was missed."""
    settings = await postgres_settings(server)
    heard: asyncio.Queue[None] = asyncio.Queue()
    notices = Notices(settings, SystemClock(), lambda: heard.put_nowait(None))
    notices.start()
    try:
        async with opened(settings) as database:
            await asyncio.wait_for(heard.get(), 5)
            async with database.tenant("acme") as session:
                await rows.raise_version(session)
                await asyncio.sleep(0)
                assert heard.empty()
            await asyncio.wait_for(heard.get(), 5)
            ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            server.sql(ended)
            await asyncio.wait_for(heard.get(), 5)
    finally:
        await notices.stop()
