"""The rows of handles: what is told of them, and what is owed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import START, FakeClock
from fakes.handles import TOOLS, FakeCourse, Heard, request_of
from fakes.lines import result
from fakes.principals import principal
from fakes.seal import FakeSeal
from real.stores import opened, sqlite_settings

from gateway.call import Answer
from gateway.errors import Reason, Refusal
from gateway.handles import kept as module
from gateway.handles.kept import KeptCalls
from gateway.handles.running import Here, Running
from gateway.settings.handles import HandleSettings
from gateway.store import calls as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.sealing import SealDown


class _DownSeal(FakeSeal):
    """Whoever holds its keys cannot be asked."""

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """Not now."""
        if self.is_broken:
            raise SealDown("not now")
        return await super().seal(tenant, place, plain)

    async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
        """Not now."""
        if self.is_broken:
            raise SealDown("not now")
        return await super().open(tenant, place, sealed)


@pytest.fixture
def clock() -> FakeClock:
    """The time."""
    return FakeClock()


@pytest.fixture
async def database(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    """A database."""
    async with opened(await sqlite_settings(tmp_path), clock) as one:
        yield one


def _kept(database: Database, clock: FakeClock, seal: FakeSeal | None = None, writer: str = "w1") -> KeptCalls:
    return KeptCalls(database, writer=writer, clock=clock, seal=seal or FakeSeal(), settings=HandleSettings())


def _running(clock: FakeClock, call_id: str = "c1", course: FakeCourse | None = None) -> Running:
    running = Running(Here(clock.monotonic), principal(), request_of("note"), Heard())
    running.begin(call_id)
    running.follow(course or FakeCourse(f"e-{call_id}", tool=TOOLS["note"]))
    return running


def _over(running: Running) -> Running:
    running.over(Answer(call_id=running.call_id, effect_id="e", outcome=result()))
    return running


def _told(told: list[str], call_id: str) -> Any:
    return lambda: told.append(call_id)


async def test_a_row_says_what_is_known_of_a_call(database: Database, clock: FakeClock) -> None:
    """Also of one of which nothing is known yet."""
    kept = _kept(database, clock)
    await kept.open(_running(clock, course=FakeCourse("e1", key="k", tool=TOOLS["note"])))
    bare = Running(Here(clock.monotonic), principal(), request_of("n" * 200), Heard())
    bare.begin("c2")
    await kept.open(bare)
    full, empty = await kept.find("acme", "c1"), await kept.find("acme", "c2")
    assert full is not None
    assert empty is not None
    assert (full.key, full.effect_id, full.tool, kept.is_mine(full)) == ("k", "e1", "note", True)
    assert (empty.key, empty.effect_id, len(empty.tool)) == (None, "c2", 128)
    assert not _kept(database, clock, writer="w2").is_mine(full)
    assert await kept.find_by_key("acme", "k") == full


async def test_a_seal_that_cannot_be_asked_is_waited_for(database: Database, clock: FakeClock) -> None:
    """Nothing is kept in the open, and the end is owed."""
    seal, told = _DownSeal(), list[str]()
    kept, running = _kept(database, clock, seal), _running(clock)
    await kept.open(running)
    seal.is_broken = True
    await kept.finish(_over(running), _told(told, "c1"))
    await kept.mend(())
    assert (kept.owed, told) == (1, [])
    seal.is_broken = False
    await kept.mend(())
    assert (kept.owed, told) == (0, ["c1"])
    found = await kept.find("acme", "c1")
    assert found is not None
    assert await kept.outcome("acme", found) == result()
    seal.is_broken = True
    with pytest.raises(Refusal) as caught:
        await kept.outcome("acme", found)
    assert caught.value.reason is Reason.STORE_UNAVAILABLE


async def test_what_cannot_be_sealed_at_all_is_not_kept(database: Database, clock: FakeClock) -> None:
    """The row says how it ended without it."""
    seal = FakeSeal()
    kept, running = _kept(database, clock, seal), _running(clock)
    await kept.open(running)
    seal.is_broken = True
    await kept.finish(_over(running), lambda: None)
    found = await kept.find("acme", "c1")
    assert found is not None
    assert (found.outcome, found.result, await kept.outcome("acme", found)) == ("ok", None, None)


async def test_what_is_owed_is_bounded(database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is let go, so that nobody asks here for it any more."""
    monkeypatch.setattr(module, "MOST_OWED", 2)
    seal, told = _DownSeal(), list[str]()
    kept = _kept(database, clock, seal)
    seal.is_broken = True
    for call_id in ("c1", "c2", "c3"):
        await kept.finish(_over(_running(clock, call_id)), _told(told, call_id))
    assert (kept.owed, told) == (2, ["c1"])


async def test_old_rows_go_with_time(database: Database, clock: FakeClock) -> None:
    """When somebody looks after them."""
    kept, running = _kept(database, clock), _running(clock)
    await kept.open(running)
    await kept.finish(_over(running), lambda: None)
    clock.advance(86_400)
    await kept.mend(())
    async with database.tenant("acme", is_read=True) as session:
        assert await rows.find(session, "c1", moment_of(START)) is None


async def test_a_transaction_that_fails_holds_no_lease(database: Database, clock: FakeClock) -> None:
    """The next one takes it."""
    kept = _kept(database, clock)
    await kept.open(_running(clock))
    clock.advance(25)
    with pytest.raises(Exception, match="refuses"):
        await kept.open(_running(clock))
    await kept.open(_running(clock, "c2"))
    clock.advance(34)
    other = _kept(database, clock, writer="w2")
    await other.find("acme", "c2")
    await other.mend(())
    found = await other.find("acme", "c2")
    assert found is not None
    assert found.state == rows.RUNNING


async def test_a_wish_to_stop_reaches_the_writer_alone(database: Database, clock: FakeClock) -> None:
    """A call that is not running takes none."""
    mine, other = _kept(database, clock), _kept(database, clock, writer="w2")
    await mine.open(_running(clock))
    assert await other.ask_cancel("acme", "c1")
    assert not await other.ask_cancel("acme", "c9")
    assert await mine.asked_to_cancel(["acme"]) == ["c1"]
    assert await other.asked_to_cancel(["acme"]) == []
