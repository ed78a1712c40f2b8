"""How accounts answer is noted at once and told to the store now and then."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.administration import CONNECTION, change, operator, replica
from fakes.clock import START, FakeClock
from real.stores import locked, opened, sqlite_settings

from gateway.errors import Reason
from gateway.registry import health
from gateway.registry.health import FLUSH_SECONDS, ConnectionHealth
from gateway.settings.store import StoreSettings
from gateway.store import rows
from gateway.store.database import Database
from gateway.store.failures import StoreDown
from gateway.store.rows import Health, RowKind


@pytest.fixture
async def settings(tmp_path: Path) -> StoreSettings:
    """A database."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    """Time."""
    return FakeClock()


@pytest.fixture
async def database(settings: StoreSettings, clock: FakeClock) -> AsyncIterator[Database]:
    """With one connection in it."""
    async with opened(settings, clock) as made:
        await replica(made, clock).administration.apply(operator(), [change(RowKind.CONNECTION, CONNECTION)])
        yield made


async def known(database: Database) -> Health:
    """What the store says of it."""
    async with database.tenant("acme", is_read=True) as session:
        row = await rows.get(session, RowKind.CONNECTION, "fake")
    assert row is not None
    assert row.health is not None
    return row.health


async def test_the_last_success_and_the_last_error_are_told(database: Database, clock: FakeClock) -> None:
    """However many there were since; those of connections that the store does not know are nothing."""
    seen = ConnectionHealth(database, clock=clock)
    for reason in (Reason.VENDOR_REFUSED, None, Reason.CONNECTION_NEEDS_AUTHORISATION):
        clock.advance(1)
        seen.seen("acme", "fake", reason)
    seen.seen("acme", "of a manifest", None)
    await seen.flush()
    found = await known(database)
    assert (found.last_error, found.needs_authorisation) == ("connection_needs_authorisation", True)
    assert found.last_success_at is not None
    assert found.last_error_at is not None
    assert (found.last_success_at.timestamp(), found.last_error_at.timestamp()) == (START + 2, START + 3)
    clock.advance(1)
    seen.seen("acme", "fake", None)
    await seen.flush()
    assert not (await known(database)).needs_authorisation


async def test_what_could_not_be_told_is_told_later(
    database: Database, settings: StoreSettings, clock: FakeClock
) -> None:
    """With what was seen meanwhile, which holds."""
    seen = ConnectionHealth(database, clock=clock)
    seen.seen("acme", "fake", Reason.VENDOR_REFUSED)
    with locked(settings.path):
        with pytest.raises(StoreDown):
            await seen.flush()
        clock.advance(1)
        seen.seen("acme", "fake", Reason.VENDOR_FORBIDDEN)
    await seen.flush()
    assert (await known(database)).last_error == "vendor_forbidden"


async def test_it_is_told_by_itself_and_at_the_end(database: Database, clock: FakeClock) -> None:
    """Every few seconds; starting and stopping twice is harmless."""
    seen = ConnectionHealth(database, clock=clock)
    await seen.start()
    await seen.start()
    seen.seen("acme", "fake", None)
    while not clock.sleepers:
        await asyncio.sleep(0)
    clock.advance(FLUSH_SECONDS)
    async with asyncio.timeout(30):
        while (await known(database)).last_success_at is None:
            await asyncio.sleep(0.005)
    seen.seen("acme", "fake", Reason.VENDOR_REFUSED)
    await seen.stop()
    await seen.stop()
    assert (await known(database)).last_error == "vendor_refused"


async def test_only_so_many_are_remembered(
    database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is away for long must not fill the memory."""
    monkeypatch.setattr(health, "MOST", 2)
    seen = ConnectionHealth(database, clock=clock)
    for number in range(5):
        seen.seen("acme", f"c{number}", None)
    assert len(seen._seen) == 2
