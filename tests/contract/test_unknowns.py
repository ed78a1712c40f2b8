"""Effects of which nobody knows, on every database: found, counted, settled once."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.clock import START, FakeClock
from fakes.spending import counters
from fakes.unresolved import DIGEST, Scene
from real.stores import opened, postgres_settings, sqlite_settings
from sqlalchemy import select

from gateway.settings.store import StoreSettings
from gateway.store import unknowns
from gateway.store.columns import moment_of
from gateway.store.failures import StoreRefused
from gateway.store.schema import calls, idempotency

UNTIL = moment_of(START + 1e5)


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path)
    return await postgres_settings(request.getfixturevalue("server"), timeout_ms=5000)


@pytest.fixture
async def scene(settings: StoreSettings) -> AsyncIterator[Scene]:
    """Nothing is unknown yet."""
    clock = FakeClock()
    async with opened(settings, clock) as database:
        yield Scene(database=database, clock=clock)


async def test_pages_go_from_the_oldest_to_the_youngest(scene: Scene) -> None:
    """Each begins after the last of the one before, also when several were claimed at one moment."""
    for number in (3, 1, 2):
        await scene.put(f"c{number}")
    scene.clock.advance(0.000_001)
    await scene.put("c0")
    async with scene.database.tenant("acme", is_read=True) as session:
        first = await unknowns.page(session, after=None, most=2)
        last = first[-1]
        rest = await unknowns.page(session, after=(last.claimed_at, last.call_id), most=2)
    assert [one.call_id for one in (*first, *rest)] == ["c1", "c2", "c3", "c0"]


async def test_only_what_is_unknown_is_found_and_counted(scene: Scene) -> None:
    """What is in progress has somebody who will tell of it."""
    assert (await _tally(scene)) == unknowns.Tally(count=0, oldest=None)
    await scene.put("c1", is_askable=False)
    scene.clock.advance(10)
    await scene.put("c2")
    await scene.put("c3", standing="in_progress")
    assert (await _tally(scene)) == unknowns.Tally(count=2, oldest=moment_of(START))
    async with scene.database.tenant("acme", is_read=True) as session:
        assert await unknowns.askable(session, 10) == ["c2"]
        assert await unknowns.find(session, "c3") is None
        found = await unknowns.find(session, "c1")
    assert found is not None
    assert (found.key, found.effect_id, found.arguments_digest) == ("k-c1", "e-c1", DIGEST)
    assert found.arguments is None
    assert "k-c1" not in repr(found)


async def test_what_was_done_is_kept_spent_and_finished(scene: Scene) -> None:
    """Without a result, without the intent and without the arguments, for as long as it is said."""
    await scene.put()
    assert await _resolve(scene, is_done=True)
    async with scene.database.tenant("acme", is_read=True) as session:
        (row,) = await session.execute(select(idempotency))
        (call,) = await session.execute(select(calls))
        assert await counters(session) == {"mail": (1, 0)}
    assert (row.standing, row.intent, row.arguments, row.result) == ("done", None, None, None)
    assert (row.settled_at, row.expires_at) == (moment_of(START), UNTIL)
    assert (call.state, call.outcome, call.finished_at, call.expires_at) == ("finished", "ok", moment_of(START), UNTIL)


async def test_what_was_not_done_frees_its_key_and_its_budget(scene: Scene) -> None:
    """And whoever asks for the call learns that nothing was done."""
    await scene.put()
    assert await _resolve(scene, is_done=False)
    async with scene.database.tenant("acme", is_read=True) as session:
        assert (await session.execute(select(idempotency))).all() == []
        (call,) = await session.execute(select(calls))
        assert await counters(session) == {"mail": (0, 0)}
    assert (call.state, call.outcome) == ("finished", "unavailable")


@pytest.mark.parametrize("is_done", [True, False])
async def test_what_is_not_unknown_is_left_alone(scene: Scene, is_done: bool) -> None:
    """Somebody is at work on it, or it was settled: neither key nor budget nor call changes."""
    await scene.put(standing="in_progress")
    assert not await _resolve(scene, is_done=is_done)
    async with scene.database.tenant("acme", is_read=True) as session:
        (row,) = await session.execute(select(idempotency))
        (call,) = await session.execute(select(calls))
        assert await counters(session) == {"mail": (0, 1)}
    assert (row.standing, call.state) == ("in_progress", "unknown")


async def test_another_calls_key_is_left_alone(scene: Scene) -> None:
    """The key was freed and taken again meanwhile: what was known of the first call settles nothing of the second."""
    await scene.put()
    async with scene.database.tenant("acme") as session:
        now = moment_of(scene.clock.now())
        assert not await unknowns.resolve_done(session, "k-c1", "c0", now, UNTIL)
        assert not await unknowns.resolve_not_done(session, "k-c1", "c0", now, UNTIL)
    assert await scene.standing() == "unknown"


async def test_of_many_who_settle_one_exactly_one_does(scene: Scene) -> None:
    """Whatever each of them says; what was reserved is spent or given back once."""
    await scene.put()
    outcomes = await asyncio.gather(*(_resolve(scene, is_done=number % 2 == 0) for number in range(10)))
    assert outcomes.count(True) == 1
    async with scene.database.tenant("acme", is_read=True) as session:
        is_spent = (await session.execute(select(idempotency))).first() is not None
        assert await counters(session) == {"mail": (int(is_spent), 0)}


async def test_another_tenants_are_out_of_reach(settings: StoreSettings, scene: Scene) -> None:
    """On PostgreSQL a second tenant sees, counts and settles nothing of the first one's; on SQLite there is none."""
    await scene.put()
    if settings.is_sqlite:
        with pytest.raises(StoreRefused):
            await scene.put("c2", tenant="other")
        return
    async with scene.database.tenant("other") as session:
        assert await unknowns.page(session, after=None, most=10) == []
        assert (await unknowns.tally(session)).count == 0
        assert not await unknowns.resolve_done(session, "k-c1", "c1", moment_of(START), UNTIL)
    assert await scene.standing() == "unknown"


async def _tally(scene: Scene) -> unknowns.Tally:
    async with scene.database.tenant("acme", is_read=True) as session:
        return await unknowns.tally(session)


async def _resolve(scene: Scene, *, is_done: bool) -> bool:
    resolve = unknowns.resolve_done if is_done else unknowns.resolve_not_done
    async with scene.database.tenant("acme") as session:
        return await resolve(session, "k-c1", "c1", moment_of(START), UNTIL)
