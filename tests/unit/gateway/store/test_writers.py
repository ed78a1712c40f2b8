"""Leases. That of many replicas one closes an orphan is tested on both databases."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW, claim
from real.stores import opened, sqlite_settings
from sqlalchemy import select

from gateway.store import keys
from gateway.store.database import Session
from gateway.store.schema import writers
from gateway.store.writers import close_orphans, hold


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A transaction."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        yield session


async def test_a_lease_grows_and_its_beginning_stays(session: Session) -> None:
    """One row a writer."""
    await hold(session, "w1", now=NOW, until=NOW + timedelta(seconds=30))
    await hold(session, "w1", now=LATER, until=LATER + timedelta(seconds=30))
    (found,) = await session.execute(select(writers))
    assert (found.started_at, found.lease_until) == (NOW, LATER + timedelta(seconds=30))


async def test_the_open_claims_of_who_is_gone_are_given_once(session: Session) -> None:
    """With the intent that tells of them. Whoever still holds its lease keeps its own."""
    await hold(session, "w1", now=NOW, until=NOW)
    await hold(session, "w2", now=NOW, until=LATER)
    await keys.take(session, claim("c1", "k1"), writer="w1", intent=b"one", now=NOW)
    await keys.take(session, claim("c2", "k2"), writer="w2", intent=b"two", now=NOW)
    (orphan,) = await close_orphans(session, LATER)
    assert (orphan.key, orphan.call_id, orphan.effect_id, orphan.writer) == ("k1", "c1", "e-c1", "w1")
    assert orphan.intent == b"one"
    assert "one" not in repr(orphan)
    assert await close_orphans(session, LATER) == []
