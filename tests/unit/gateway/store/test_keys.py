"""The rows of keys. `tests/contract/test_keys.py` and the integration tests say what is built on them."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW, claim, put
from real.stores import opened, sqlite_settings

from gateway.call import Standing
from gateway.store import keys
from gateway.store.database import Session


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A transaction, and a writer."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await put(session)
        yield session


async def _take(session: Session, call_id: str = "c1", **more: object) -> keys.Kept | None:
    return await keys.take(session, claim(call_id), writer="w1", intent=b"{}", **{"now": NOW, "arguments": None} | more)  # type: ignore[arg-type]


async def test_the_first_takes_it_and_the_second_learns_of_that(session: Session) -> None:
    """With what it was taken for."""
    assert await keys.find(session, "k", NOW) is None
    assert await _take(session) is None
    kept = await _take(session, "c2")
    assert kept == keys.Kept(
        standing=Standing.IN_PROGRESS, call_id="c1", effect_id="e-c1", arguments_digest="sha256:aa"
    )


async def test_what_is_done_is_kept_until_its_time_and_then_free(session: Session) -> None:
    """To the moment."""
    await _take(session)
    await keys.finish(session, claim(), result=b"sealed", now=NOW, until=LATER)
    kept = await keys.find(session, "k", LATER - timedelta(microseconds=1))
    assert kept is not None
    assert (kept.standing, kept.result) == (Standing.DONE, b"sealed")
    assert await keys.find(session, "k", LATER) is None
    assert await _take(session, "c2", now=LATER) is None


async def test_only_its_owner_changes_a_row_and_only_while_it_is_open(session: Session) -> None:
    """Whatever others say of it."""
    await _take(session)
    await keys.finish(session, claim("c2"), result=b"other", now=NOW, until=LATER)
    await keys.free(session, claim("c2"))
    await keys.leave(session, claim("c2"))
    assert (await keys.find(session, "k", NOW)).standing is Standing.IN_PROGRESS  # type: ignore[union-attr]
    await keys.finish(session, claim(), result=b"first", now=NOW, until=LATER)
    await keys.finish(session, claim(), result=b"again", now=NOW, until=LATER)
    await keys.free(session, claim())
    await keys.leave(session, claim())
    assert (await keys.find(session, "k", NOW)).result == b"first"  # type: ignore[union-attr]


async def test_purging_takes_what_is_over_and_nothing_else(session: Session) -> None:
    """An unknown effect has no end."""
    await _take(session)
    await keys.leave(session, claim())
    await keys.purge(session, LATER + timedelta(days=1000))
    assert (await keys.find(session, "k", NOW)).standing is Standing.UNKNOWN  # type: ignore[union-attr]


def test_a_result_is_not_shown() -> None:
    """Not even sealed."""
    kept = keys.Kept(standing=Standing.DONE, call_id="c", effect_id="e", arguments_digest="d", result=b"sealed-bytes")
    assert "sealed-bytes" not in repr(kept)
