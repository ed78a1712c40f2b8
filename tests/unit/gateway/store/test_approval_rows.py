"""Looking at the rows of approvals. `tests/contract/test_approvals.py` says what is built on them."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW, approval, parked, put
from real.stores import opened, sqlite_settings
from sqlalchemy import update

from gateway.store import approval_rows, calls
from gateway.store.database import Session
from gateway.store.schema import approvals, idempotency, writers
from gateway.store.schema import calls as call_rows


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A transaction, and a parked call with an approval that one person decided."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await put(session, is_asked=True)
        yield session


async def test_an_approval_is_found_with_its_call_and_decisions(session: Session) -> None:
    """And one that is not there is not."""
    kept = await approval_rows.find(session, "a1")
    assert kept is not None
    assert (kept.call_id, kept.requester, kept.call_state, kept.arguments) == ("c1", "helper-1", "parked", b"sealed")
    assert await approval_rows.find(session, "a2") is None
    said = await approval_rows.decisions(session, ["a1", "a2"])
    assert [one.person for one in said["a1"]] == ["ann"]
    assert "a2" not in said


async def test_only_what_is_open_and_not_over_takes_room(session: Session) -> None:
    """Of that agent."""
    assert await approval_rows.count_open(session, "helper", NOW) == 1
    assert await approval_rows.count_open(session, "other", NOW) == 0
    assert await approval_rows.count_open(session, "helper", LATER) == 0


async def test_a_page_goes_on_after_the_last_one(session: Session) -> None:
    """In the order of the ids."""
    for number in (2, 3):
        await session.execute(call_rows.insert().values(parked("acme", f"c{number}")))
        await session.execute(approvals.insert().values(approval("acme", f"a{number}", call_id=f"c{number}")))
    found = await approval_rows.page(session, ["open"], after="a1", limit=1)
    assert [each.approval_id for each in found] == ["a2"]
    assert await approval_rows.page(session, ["denied"], after="", limit=9) == []


async def test_what_is_over_and_what_was_not_used_is_found(session: Session) -> None:
    """Each from its own moment on."""
    assert await approval_rows.over(session, LATER - timedelta(seconds=1), limit=9) == []
    assert [each.approval_id for each in await approval_rows.over(session, LATER, limit=9)] == ["a1"]
    await session.execute(update(approvals).values(state="approved", decided_at=NOW))
    assert await approval_rows.unused(session, NOW, decided_before=NOW, limit=9) == ()
    later = NOW + timedelta(seconds=1)
    assert await approval_rows.unused(session, later, decided_before=later, limit=9) == ("a1",)
    assert await approval_rows.unused(session, LATER, decided_before=later, limit=9) == ()


@pytest.mark.parametrize(
    ("state", "standing", "is_found"),
    [
        (calls.RUNNING, "in_progress", True),
        (calls.RUNNING, "unknown", True),
        (calls.UNKNOWN, "unknown", False),
        (calls.UNKNOWN, "done", True),
    ],
)
async def test_calls_of_writers_that_are_gone_are_found_when_there_is_more_to_tell(
    session: Session, state: str, standing: str, *, is_found: bool
) -> None:
    """An unknown one only once its key tells how it ended."""
    await session.execute(update(approvals).values(state="used", decided_at=NOW, used_at=NOW))
    await session.execute(update(call_rows).values(state=state, key="k"))
    row = {"key": "k", "call_id": "c1", "effect_id": "c1", "arguments_digest": "d", "standing": standing}
    done = {"settled_at": NOW, "expires_at": LATER} if standing == "done" else {"intent": b"{}"}
    await session.execute(idempotency.insert().values(tenant="acme", writer="w1", claimed_at=NOW, **row, **done))
    assert await approval_rows.unfinished(session, lapsed_before=LATER, limit=9) == []
    await session.execute(update(writers).values(lease_until=NOW))
    found = await approval_rows.unfinished(session, lapsed_before=LATER, limit=9)
    assert [(each.call_id, each.writer, each.standing) for each in found] == (
        [("c1", "w1", standing)] if is_found else []
    )
