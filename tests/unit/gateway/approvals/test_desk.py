"""A desk whose store or seal fails. `tests/contract/test_approvals.py` says the rest, over both databases."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.approvals import Office, arguments, asking, person, saying
from fakes.clock import FakeClock
from real.stores import locked, opened, sqlite_settings

from gateway.approvals.base import ApprovalState
from gateway.errors import Refused, RefusedKind


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Approvals over SQLite."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield Office(database, FakeClock())


async def test_while_the_store_takes_no_writes_nothing_is_decided(office: Office) -> None:
    """The person is told to look again, and can decide later."""
    approval_id = await office.park()
    with locked(office.database.settings.path), pytest.raises(Refused) as caught:
        await office.desk.decide(person(), saying(approval_id))
    assert caught.value.kind is RefusedKind.UNAVAILABLE
    await office.approve(approval_id)


async def test_what_does_not_open_is_not_shown(office: Office) -> None:
    """Nobody approves what they cannot see; lists hold nothing that is sealed."""
    approval_id = await office.park()
    office.seal.is_broken = True
    for doing in (
        office.desk.get(person(), approval_id),
        office.desk.edited(person(), saying(approval_id), arguments().canonical),
    ):
        with pytest.raises(Refused) as caught:
            await doing
        assert caught.value.kind is RefusedKind.UNAVAILABLE
    assert len((await office.desk.page(person(), (ApprovalState.OPEN,), size=9, after=""))[0]) == 1


async def test_a_page_may_be_short_and_still_not_the_last(office: Office) -> None:
    """What a person may not see leaves a gap and no sign of it but that."""
    for _ in range(2):
        await office.park(decision=asking(roles=("boss",)))
    mine = await office.park()
    found, after = await office.desk.page(person(), (ApprovalState.OPEN,), size=2, after="")
    assert (found, bool(after)) == ([], True)
    found, after = await office.desk.page(person(), (ApprovalState.OPEN,), size=2, after=after)
    assert ([each.approval_id for each in found], after) == ([mine], "")
