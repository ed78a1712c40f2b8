"""Parking while the store fails. `tests/contract/test_approvals.py` says the rest, over both databases."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.approvals import Office, person
from fakes.clock import FakeClock
from real.stores import locked, opened, sqlite_settings

from adapters.base import Fault
from gateway.approvals.base import ApprovalState
from gateway.errors import Reason, Refusal


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Approvals over SQLite."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield Office(database, FakeClock())


async def _open(office: Office) -> int:
    return len((await office.desk.page(person(), (ApprovalState.OPEN,), size=9, after=""))[0])


async def test_while_the_store_does_not_answer_nothing_is_parked_or_used(office: Office) -> None:
    """Each is refused with how it failed; what was given is there afterwards."""
    approval_id = await office.given()
    approved = await office.approved(approval_id)
    with locked(office.database.settings.path):
        for doing in (office.park(), office.approvals.withdraw("acme", approval_id)):
            with pytest.raises(Refusal) as caught:
                await doing
            assert (caught.value.reason, caught.value.fault) == (Reason.APPROVALS_UNAVAILABLE, Fault.TIMEOUT)
    assert await _open(office) == 0
    assert (await office.execute(approved)).outcome
    assert office.effects == [approved.call_id]


async def test_a_caller_who_leaves_while_it_is_parked_leaves_no_question(office: Office) -> None:
    """Whatever the store made of it."""
    await office.park()
    with locked(office.database.settings.path):
        parking = asyncio.create_task(office.park())
        await asyncio.sleep(0.02)
        parking.cancel()
        assert isinstance((await asyncio.gather(parking, return_exceptions=True))[0], asyncio.CancelledError)
    await office.approvals.tidy("acme")
    assert await _open(office) == 1


async def test_what_is_doubtful_is_looked_after_for_a_while_and_then_let_go(office: Office) -> None:
    """A transaction that was not done by then never will be."""
    with locked(office.database.settings.path), pytest.raises(Refusal):
        await office.park()
    assert len(office.approvals._doubtful) == 1
    await office.approvals.tidy("acme")
    assert len(office.approvals._doubtful) == 1
    office.clock.advance(31)
    await office.approvals.tidy("acme")
    assert not office.approvals._doubtful
