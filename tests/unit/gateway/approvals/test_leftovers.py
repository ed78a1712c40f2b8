"""Tidying up. `tests/contract/test_approvals.py` says the rest, over both databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.approvals import Office
from fakes.clock import FakeClock
from real.stores import locked, opened, sqlite_settings

from gateway.errors import Reason, Refusal
from gateway.store import calls
from gateway.store.columns import moment_of


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Approvals over SQLite."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield Office(database, FakeClock())


async def test_with_nothing_to_do_nothing_is_written(office: Office) -> None:
    """It is asked every second, and SQLite has one writer."""
    await office.park()
    await office.approvals.tidy("acme")
    with locked(office.database.settings.path):
        assert await office.approvals.tidy("acme") == ()


async def test_a_store_that_does_not_answer_is_told(office: Office) -> None:
    """And the next time all of it is done."""
    await office.park(call_id="c1")
    office.clock.advance(3600)
    with locked(office.database.settings.path), pytest.raises(Refusal) as caught:
        await office.approvals.tidy("acme")
    assert caught.value.reason is Reason.APPROVALS_UNAVAILABLE
    await office.approvals.tidy("acme")
    async with office.database.tenant("acme", is_read=True) as session:
        kept = await calls.find(session, "c1", moment_of(office.clock.now()))
    assert kept is not None
    assert kept.outcome == "precondition_failed"


async def test_a_result_that_does_not_open_is_told_as_not_kept(office: Office) -> None:
    """The call was carried out all the same."""
    gone = Office(office.database, office.clock, "gone")
    approval_id = await gone.given(call_id="c1")
    await gone.execute(await gone.approved(approval_id))
    office.clock.advance(61)
    office.seal.is_broken = True
    await office.approvals.tidy("acme")
    async with office.database.tenant("acme", is_read=True) as session:
        kept = await calls.find(session, "c1", moment_of(office.clock.now()))
    assert kept is not None
    assert (kept.state, kept.outcome, kept.result) == (calls.FINISHED, "conflict", None)
