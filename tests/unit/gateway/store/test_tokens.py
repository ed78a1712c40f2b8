"""Leases and contents of access tokens, on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.store import tokens
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.failures import StoreRefused
from gateway.store.tokens import Content, TokenRow

NEW = TokenRow(sealed=None, expires_at=None, is_owed=False, version=0)


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """Each in turn."""
    settings = (
        await sqlite_settings(tmp_path)
        if request.param == "sqlite"
        else await postgres_settings(request.getfixturevalue("server"), timeout_ms=10_000)
    )
    async with opened(settings) as one:
        yield one


async def take(database: Database, holder: str, now: float, *, name: str = "drive") -> TokenRow | None:
    """For ten seconds."""
    async with database.tenant("acme") as session:
        return await tokens.take(session, name, holder, now=moment_of(now), until=moment_of(now + 10))


async def keep(database: Database, content: Content, after: int) -> bool:
    """After a version."""
    async with database.tenant("acme") as session:
        return await tokens.keep(session, "drive", content, after=after)


async def test_one_of_many_takes_a_lease(database: Database) -> None:
    """Who come at the same moment, when there is no row yet and when there is one."""
    for moment in (0.0, 10.5):
        taken = await asyncio.gather(*(take(database, f"holder-{number}", moment) for number in range(10)))
        assert [one for one in taken if one is not None] == [NEW]


async def test_a_lease_may_be_taken_on_by_who_has_it(database: Database) -> None:
    """It lasts longer then."""
    assert await take(database, "a", 0) == NEW
    assert await take(database, "a", 5) == NEW
    assert await take(database, "b", 12) is None
    assert await take(database, "b", 15.1) == NEW
    assert await take(database, "a", 15.2) is None


async def test_letting_go_is_for_who_has_it(database: Database) -> None:
    """And for nobody else."""
    await take(database, "a", 0)
    for holder, taken in (("b", None), ("a", NEW)):
        async with database.tenant("acme") as session:
            await tokens.release(session, "drive", holder)
        assert await take(database, "c", 1) == taken


async def test_what_is_kept_outlives_leases(database: Database) -> None:
    """Whoever takes one next is told of it."""
    content = Content(sealed=b"\x00sealed", expires_at=moment_of(99.5), is_owed=True)
    kept = TokenRow(sealed=b"\x00sealed", expires_at=moment_of(99.5), is_owed=True, version=1)
    await take(database, "a", 0)
    assert await keep(database, content, 0)
    assert await take(database, "b", 20) == kept
    async with database.tenant("acme", is_read=True) as session:
        assert await tokens.find(session, "drive") == kept
        assert await tokens.find(session, "mail") is None


async def test_of_two_who_keep_after_one_version_the_first_does(database: Database) -> None:
    """The other one knows that it was too late."""
    await take(database, "a", 0)
    contents = [Content(sealed=bytes([n]), expires_at=moment_of(1), is_owed=False) for n in range(5)]
    kept = await asyncio.gather(*(keep(database, content, 0) for content in contents))
    assert sum(kept) == 1
    assert await keep(database, contents[0], 1)


async def test_nothing_is_kept_where_nobody_ever_took_a_lease(database: Database) -> None:
    """There is no row."""
    assert not await keep(database, Content(sealed=b"x", expires_at=moment_of(1), is_owed=False), 0)


async def test_nothing_is_printed(database: Database) -> None:
    """What is sealed is nobody's reading all the same."""
    await take(database, "a", 0)
    content = Content(sealed=b"sealed-text", expires_at=moment_of(1), is_owed=False)
    assert await keep(database, content, 0)
    row = await take(database, "a", 0)
    assert "sealed-text" not in f"{content!r}{row!r}"


async def test_states_that_must_not_be_cannot_be_written(database: Database) -> None:
    """A debt of nothing."""
    await take(database, "a", 0)
    with pytest.raises(StoreRefused):
        await keep(database, Content(sealed=None, expires_at=moment_of(1), is_owed=True), 0)  # type: ignore[arg-type]
