"""Rows of access tokens: sealed, leased to one at a time, and kept by whoever knows the newest."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.grants import HOSTS, REFERENCE, FailingSeal
from fakes.seal import FakeSeal
from real.stores import locked, opened, sqlite_settings
from sqlalchemy import update

from adapters.base import AdapterError, ErrorKind, Happened
from gateway.credentials.token_rows import LEASE_SECONDS, Kept, Place, TokenRows, digest
from gateway.store.database import Database
from gateway.store.schema import access_tokens

PLACE = Place("acme", "drive", REFERENCE, HOSTS)
KEPT = Kept(
    token="access-1",
    expires_at=1_767_229_200.25,
    of=(digest("new"), digest("old")),
    replaces=digest("old"),
    credential="new",
    is_owed=True,
)


class Kit:
    """Rows over a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = FakeClock()
        self.seal = FailingSeal(FakeSeal())
        holders = (f"holder-{number}" for number in range(100))
        self.rows = TokenRows(database, self.seal, clock=self.clock, new_holder=lambda: next(holders))


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """A fresh one."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield Kit(database)


async def test_what_was_kept_is_found_as_it_was(kit: Kit) -> None:
    """All of it, by whoever looks; the version counts."""
    assert await kit.rows.look(PLACE) == Kept()
    assert await kit.rows.take(PLACE) is not None
    kept = await kit.rows.keep(PLACE, KEPT)
    assert kept == replace(KEPT, version=1)
    assert await kit.rows.look(PLACE) == kept


async def test_a_row_that_was_moved_to_another_connection_does_not_open(kit: Kit) -> None:
    """It is sealed at its place: whoever can write the table cannot lend one account's token to another."""
    await kit.rows.take(PLACE)
    await kit.rows.keep(PLACE, KEPT)
    async with kit.database.tenant("acme") as session:
        await session.execute(update(access_tokens).values(connection="other"))
    assert await kit.rows.look(PLACE._replace(connection="other")) == Kept(version=1)


async def test_a_lease_is_ones_until_it_is_over_or_let_go_of(kit: Kit) -> None:
    """And what is let go of by one who has lost it stays another's."""
    first = await kit.rows.take(PLACE)
    assert first is not None
    assert await kit.rows.take(PLACE) is None
    kit.clock.advance(LEASE_SECONDS)
    assert await kit.rows.take(PLACE) is None
    kit.clock.advance(0.001)
    second = await kit.rows.take(PLACE)
    assert second is not None
    assert second.holder != first.holder
    await kit.rows.release(PLACE, first.holder)
    assert await kit.rows.take(PLACE) is None
    await kit.rows.release(PLACE, second.holder)
    assert await kit.rows.take(PLACE) is not None


async def test_connections_have_leases_of_their_own(kit: Kit) -> None:
    """One account waits for no other."""
    assert await kit.rows.take(PLACE) is not None
    assert await kit.rows.take(PLACE._replace(connection="mail")) is not None


async def test_what_somebody_kept_meanwhile_stays(kit: Kit) -> None:
    """Whoever knows an older version keeps nothing."""
    await kit.rows.take(PLACE)
    kept = await kit.rows.keep(PLACE, KEPT)
    assert await kit.rows.keep(PLACE, replace(KEPT, token="access-2")) is None
    assert await kit.rows.look(PLACE) == kept


async def test_who_cannot_seal_gets_no_lease(kit: Kit) -> None:
    """And leaves none behind: what a vendor gave could not be kept."""
    kit.seal.is_down = True
    with pytest.raises(AdapterError) as caught:
        await kit.rows.take(PLACE)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    kit.seal.is_down = False
    assert await kit.rows.take(PLACE) is not None


async def test_a_store_that_is_away_is_unavailable(kit: Kit) -> None:
    """To whoever looks, takes or keeps; letting go does not mind."""
    with locked(kit.database.settings.path):
        for work in (kit.rows.take(PLACE), kit.rows.keep(PLACE, KEPT)):
            with pytest.raises(AdapterError) as caught:
                await work
            assert caught.value.kind is ErrorKind.UNAVAILABLE
        await kit.rows.release(PLACE, "holder")


async def test_the_second_tenant_of_a_sqlite_file_is_unavailable(kit: Kit) -> None:
    """No exception of the store's leaves."""
    await kit.rows.take(PLACE)
    with pytest.raises(AdapterError):
        await kit.rows.look(PLACE._replace(tenant="rival"))


@pytest.mark.parametrize(("source", "newest"), [("old", "new"), ("new", "new"), ("another", "another"), ("", "")])
def test_the_newest_credential_is_used_while_the_reference_gives_what_it_replaced(source: str, newest: str) -> None:
    """Or gives it itself; whatever else it gives is newer."""
    assert KEPT.newest(source) == newest
    assert Kept().newest(source) == source


def test_nothing_secret_is_printed() -> None:
    """By what is handed about."""
    assert "access-1" not in repr(KEPT)
    assert "'new'" not in repr(KEPT)
