"""What is written of a call that is to wait: bound to what would run, and whose approval counts already."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.approvals import ALLOW, Office, arguments, asking, decided, parked, person, saying
from fakes.clock import FakeClock
from real.stores import opened, sqlite_settings

from gateway.approvals.base import ApprovalState


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Approvals over SQLite."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield Office(database, FakeClock())


async def test_only_a_fresh_approval_with_the_right_role_counts(office: Office) -> None:
    """Under the terms that hold now; whoever denied or has another role has to be asked."""
    old = await office.park(call_id="c1")
    now = office.clock.now()
    made = parked(office.clock, call_id="c1", key="key-c1", instead_of=old, decision=asking(count=5, seconds=60))
    given = (
        decided("ann", at=now),
        decided("bob", "clerk", at=now),
        decided("cid", at=now - 60),
        replace(decided("dan", at=now), approves=False),
    )
    pending = await office.approvals.park(replace(made, decided_by=given))
    shown = await office.desk.get(person(), pending.approval_id)
    assert [one.person for one in shown.decisions] == ["ann"]
    assert shown.state is ApprovalState.OPEN


async def test_a_requester_is_never_counted(office: Office) -> None:
    """Not by a mistake of ours either: the database refuses it, and nothing is parked."""
    old = await office.park(call_id="c1")
    made = parked(office.clock, call_id="c1", instead_of=old, decided_by=(decided("helper-1", at=office.clock.now()),))
    with pytest.raises(Exception, match="approvals_unavailable"):
        await office.approvals.park(made)
    assert (await office.desk.get(person(), old)).state is ApprovalState.OPEN


async def test_what_policy_asks_for_now_holds_before_what_it_asked_for_then(office: Office) -> None:
    """The former terms serve an edit that policy asks nobody about, and nothing else."""
    for decision, roles in ((ALLOW, ("boss",)), (replace(asking(), obligations=()), ("approver",))):
        old = await office.park(decision=asking(roles=("boss",)))
        edited = await office.desk.edited(person("ann", "boss", "approver"), saying(old), arguments("edited").canonical)
        office.judged = lambda _, decision=decision: decision  # type: ignore[misc]
        outcome = (await office.execute(edited)).outcome
        shown = await office.desk.get(person("x", "boss", "approver"), outcome.approval_id)  # type: ignore[union-attr]
        assert shown.terms.roles == roles
