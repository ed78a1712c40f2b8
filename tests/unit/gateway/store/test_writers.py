"""Leases. That of many replicas one closes an orphan is tested on both databases."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW, claim
from real.stores import opened, sqlite_settings
from sqlalchemy import select

from gateway.call import Standing
from gateway.store import keys
from gateway.store.database import Session
from gateway.store.schema import writers
from gateway.store.writers import (
    Stand,
    claims_of,
    close,
    closed_by,
    forget_closings,
    hold,
    lapsed_claims,
    standings,
)


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


async def _claimed(session: Session, call_id: str, key: str, writer: str) -> None:
    await keys.take(session, claim(call_id, key), writer=writer, intent=call_id.encode(), arguments=None, now=NOW)


async def test_the_claim_of_who_is_gone_is_closed_once(session: Session) -> None:
    """With the intent that tells of it. Whoever still holds its lease keeps its own."""
    await hold(session, "w1", now=NOW, until=NOW)
    await hold(session, "w2", now=NOW, until=LATER)
    await _claimed(session, "c1", "k1", "w1")
    await _claimed(session, "c2", "k2", "w2")
    (lapsed,) = await lapsed_claims(session, LATER)
    assert (lapsed.key, lapsed.call_id, lapsed.effect_id, lapsed.writer) == ("k1", "c1", "e-c1", "w1")
    assert lapsed.intent == b"c1"
    assert "k1" not in repr(lapsed)
    assert await close(session, lapsed, "call", closed_by="w9", now=LATER)
    assert not await close(session, lapsed, "call", closed_by="w8", now=LATER)
    assert await closed_by(session, [("call", "c1"), ("call", "c2"), ("execution", "c1")]) == {("call", "c1"): "w9"}
    assert await lapsed_claims(session, LATER) == []
    assert (await standings(session, ["c1", "c2", "c3"])) == {
        "c1": Stand(standing=Standing.UNKNOWN, intent=b"c1", writer="w1"),
        "c2": Stand(standing=Standing.IN_PROGRESS, intent=b"c2", writer="w2"),
    }


async def test_a_settled_claim_is_not_closed(session: Session) -> None:
    """It was told in time."""
    await hold(session, "w1", now=NOW, until=NOW)
    await _claimed(session, "c1", "k1", "w1")
    (lapsed,) = await lapsed_claims(session, LATER)
    await keys.finish(session, claim("c1", "k1"), result=None, now=NOW, until=LATER)
    assert not await close(session, lapsed, "call", closed_by="w9", now=LATER)
    assert await closed_by(session, [("call", "c1")]) == {}


async def test_the_processes_of_one_state_directory_are_a_family(session: Session) -> None:
    """Whoever asks is left out, and so is a name that only begins alike."""
    for writer in ("ab", "ab.1", "ab.2", "abc.1", "a_.1"):
        await hold(session, writer, now=NOW, until=LATER)
        await _claimed(session, f"c-{writer}", f"k-{writer}", writer)
    assert {one.writer for one in await claims_of(session, "ab", but="ab.2")} == {"ab", "ab.1"}
    assert {one.writer for one in await claims_of(session, "a_", but="")} == {"a_.1"}


async def test_old_closings_are_forgotten(session: Session) -> None:
    """Whoever was gone then will not come back."""
    await hold(session, "w1", now=NOW, until=NOW)
    await _claimed(session, "c1", "k1", "w1")
    (lapsed,) = await lapsed_claims(session, LATER)
    await close(session, lapsed, "call", closed_by="w9", now=NOW)
    await forget_closings(session, NOW)
    assert await closed_by(session, [("call", "c1")]) != {}
    await forget_closings(session, LATER)
    assert await closed_by(session, [("call", "c1")]) == {}
