"""The rows of calls, on both databases."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.approvals_rows import asked
from fakes.calls import opened_call
from fakes.clock import START, FakeClock
from real.stores import opened, postgres_settings, sqlite_settings
from sqlalchemy import select

from gateway.store import calls as rows
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.failures import StoreRefused
from gateway.store.schema import calls
from gateway.store.writers import hold

NOW = moment_of(START)
SOON, LATER = moment_of(START + 60), moment_of(START + 7200)


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of two writers: w1 holds its lease, and w0 lost it a minute ago."""
    made = sqlite_settings(tmp_path) if request.param == "sqlite" else None
    settings = await (made or postgres_settings(request.getfixturevalue("server")))
    async with opened(settings, FakeClock()) as one:
        async with one.tenant("acme") as session:
            await hold(session, "w1", now=NOW, until=SOON)
            await hold(session, "w0", now=NOW, until=moment_of(START - 60))
        yield one


async def _open(database: Database, call_id: str = "c1", **changes: Any) -> None:
    async with database.tenant("acme") as session:
        await rows.open_call(session, opened_call(call_id, **changes))


async def _find(database: Database, call_id: str = "c1", at: float = START) -> rows.Kept | None:
    async with database.tenant("acme", is_read=True) as session:
        return await rows.find(session, call_id, moment_of(at))


async def _finish(database: Database, call_id: str = "c1", outcome: str = "ok", result: bytes | None = b"s") -> bool:
    async with database.tenant("acme") as session:
        return await rows.finish(session, call_id, outcome=outcome, result=result, now=NOW, until=SOON)


async def _ask(database: Database, approval_id: str, call_id: str, at: float = START) -> None:
    async with database.tenant("acme") as session:
        await asked(session, approval_id, call_id, at, state="withdrawn")


async def test_an_opened_call_is_found_by_its_id(database: Database) -> None:
    """As it was opened; any other id is nothing."""
    await _open(database)
    kept = await _find(database)
    assert kept is not None
    assert (kept.state, kept.agent, kept.tool, kept.effect_id) == (rows.RUNNING, "helper", "echo", "e-c1")
    assert (kept.outcome, kept.result, kept.approval_id, kept.created_at) == (None, None, None, NOW)
    assert await _find(database, "c2") is None


async def test_an_id_is_one_call(database: Database) -> None:
    """A second row of it is refused."""
    await _open(database)
    with pytest.raises(StoreRefused):
        await _open(database)


async def test_a_writer_without_a_lease_opens_nothing(database: Database) -> None:
    """The database itself says so."""
    with pytest.raises(StoreRefused):
        await _open(database, writer="nobody")


async def test_a_finished_call_says_how_it_ended_while_its_time_lasts(database: Database) -> None:
    """Then it is as if it had never been."""
    await _open(database)
    assert await _finish(database)
    kept = await _find(database)
    assert kept is not None
    assert (kept.state, kept.outcome, kept.result, kept.finished_at) == (rows.FINISHED, "ok", b"s", NOW)
    assert await _find(database, at=START + 59) is not None
    assert await _find(database, at=START + 60) is None


async def test_a_call_ends_once(database: Database) -> None:
    """The first end stays; a call that is not there does not end."""
    await _open(database)
    assert await _finish(database)
    assert not await _finish(database, outcome="unknown", result=None)
    assert not await _finish(database, "c2")
    kept = await _find(database)
    assert kept is not None
    assert kept.outcome == "ok"


async def test_a_running_call_is_there_however_old_it_is(database: Database) -> None:
    """Only what has ended is forgotten."""
    await _open(database)
    await _open(database, "c2", state=rows.PARKED, arguments=b"sealed", key="k", expires_at=SOON)
    assert await _find(database, at=START + 1e7) is not None
    assert await _find(database, "c2", at=START + 1e7) is not None


async def test_what_ends_keeps_no_arguments(database: Database) -> None:
    """They are private, and nobody needs them any more."""
    await _open(database, state=rows.PARKED, arguments=b"sealed", key="k")
    await _finish(database)
    async with database.tenant("acme", is_read=True) as session:
        kept = (await session.execute(select(calls.c.arguments))).scalar_one()
    assert kept is None


async def test_a_call_is_found_by_its_key(database: Database) -> None:
    """One that has not ended before the others, else the newest."""
    await _open(database, "old", key="k")
    await _finish(database, "old")
    await _open(database, "new", key="k", created_at=moment_of(START + 1))
    await _finish(database, "new")
    async with database.tenant("acme", is_read=True) as session:
        newest = await rows.find_by_key(session, "k", NOW)
    await _open(database, "open", key="k", created_at=moment_of(START - 1))
    async with database.tenant("acme", is_read=True) as session:
        unended = await rows.find_by_key(session, "k", NOW)
        other = await rows.find_by_key(session, "other", NOW)
    assert newest is not None
    assert unended is not None
    assert (newest.call_id, unended.call_id, other) == ("new", "open", None)


async def test_a_parked_key_has_one_call(database: Database) -> None:
    """A second one is refused."""
    await _open(database, state=rows.PARKED, arguments=b"sealed", key="k")
    with pytest.raises(StoreRefused):
        await _open(database, "c2", state=rows.PARKED, arguments=b"sealed", key="k")


async def test_a_running_call_that_has_to_wait_for_a_person_is_parked(database: Database) -> None:
    """Its one row says so; an ended one is not parked again."""
    parked = {"state": rows.PARKED, "arguments": b"sealed", "key": "k", "expires_at": LATER}
    await _open(database)
    await _open(database, **parked)
    kept = await _find(database)
    assert kept is not None
    assert (kept.state, kept.key) == (rows.PARKED, "k")
    await _finish(database)
    with pytest.raises(StoreRefused):
        await _open(database, **parked)


async def test_a_parked_call_is_resumed_once(database: Database) -> None:
    """By the writer that was faster."""
    await _open(database, state=rows.PARKED, arguments=b"sealed", key="k", writer="w0")
    async with database.tenant("acme") as session:
        taken = [await rows.resume(session, "c1", writer=writer) for writer in ("w1", "w0")]
    kept = await _find(database)
    assert kept is not None
    assert (taken, kept.state, kept.writer) == ([True, False], rows.RUNNING, "w1")


async def test_a_call_names_the_approval_that_it_waits_for(database: Database) -> None:
    """The newest, when there was more than one."""
    await _open(database, state=rows.PARKED, arguments=b"sealed", key="k")
    await _ask(database, "first", "c1")
    await _ask(database, "second", "c1", START + 1)
    kept = await _find(database)
    assert kept is not None
    assert kept.approval_id == "second"


async def test_only_a_running_call_can_be_asked_to_stop(database: Database) -> None:
    """Its writer sees it, and no other."""
    await _open(database)
    await _open(database, "ended")
    await _open(database, "quiet")
    await _finish(database, "ended")
    async with database.tenant("acme") as session:
        wanted = [await rows.ask_cancel(session, call_id, NOW) for call_id in ("c1", "ended", "none")]
    async with database.tenant("acme", is_read=True) as session:
        seen = [await rows.asked_to_cancel(session, writer) for writer in ("w1", "w0")]
    assert wanted == [True, False, False]
    assert seen == [["c1"], []]


async def test_calls_of_a_writer_that_is_gone_are_unknown_from_then_on(database: Database) -> None:
    """Given to one caller alone; those of a writer that is there go on, and parked ones wait for whoever it is.

    Those that were approved are looked after by others.
    """
    await _open(database, writer="w0")
    await _open(database, "mine")
    await _open(database, "parked", writer="w0", state=rows.PARKED, arguments=b"sealed", key="k")
    await _open(database, "approved", writer="w0")
    await _ask(database, "a1", "approved")
    async with database.tenant("acme") as session:
        closed = await rows.close_lapsed(session, NOW, until=SOON)
        again = await rows.close_lapsed(session, NOW, until=SOON)
    states = [
        kept and kept.state for kept in [await _find(database, one) for one in ("c1", "mine", "parked", "approved")]
    ]
    assert (closed, again) == (["c1"], [])
    assert states == [rows.UNKNOWN, rows.RUNNING, rows.PARKED, rows.RUNNING]


async def test_what_was_called_unknown_may_still_be_finished(database: Database) -> None:
    """By the writer, which was only silent, or by whoever found out."""
    await _open(database)
    async with database.tenant("acme") as session:
        assert await rows.leave(session, "c1", until=SOON)
        assert not await rows.leave(session, "c1", until=SOON)
    assert await _finish(database, outcome="unknown")
    assert await _finish(database)
    assert not await _finish(database, outcome="unknown")
    kept = await _find(database)
    assert kept is not None
    assert (kept.state, kept.outcome) == (rows.FINISHED, "ok")


async def test_what_is_over_goes(database: Database) -> None:
    """Of a call that an approval points at, everything that was private does."""
    for call_id in ("c1", "asked", "running"):
        await _open(database, call_id)
    await _ask(database, "a1", "asked")
    await _finish(database)
    await _finish(database, "asked")
    async with database.tenant("acme") as session:
        await rows.purge(session, moment_of(START + 59))
        before = await rows.find(session, "c1", NOW)
        await rows.purge(session, SOON)
        left = (await session.execute(select(calls).order_by(calls.c.call_id))).all()
    assert before is not None
    assert [row.call_id for row in left] == ["asked", "running"]
    assert (left[0].result, left[0].arguments, left[0].principal, left[0].state) == (None, None, b"", rows.FINISHED)


async def test_another_tenant_sees_nothing(database: Database) -> None:
    """Nor changes anything. SQLite holds one tenant, so that there is no other."""
    await _open(database)
    if database.settings.is_sqlite:
        return
    async with database.tenant("other") as session:
        found = await rows.find(session, "c1", NOW)
        ended = await rows.finish(session, "c1", outcome="ok", result=None, now=NOW, until=SOON)
        asked = await rows.ask_cancel(session, "c1", NOW)
    assert (found, ended, asked) == (None, False, False)
