"""What breaks underneath is told in one way, and what is kept of one tenant runs for that tenant alone."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.approvals import Office
from fakes.clock import FakeClock
from real.stores import opened, sqlite_settings
from sqlalchemy import update

from adapters.base import Fault
from gateway.approvals.kept import KeptUnreadable
from gateway.approvals.means import told_as_refusal
from gateway.errors import Reason, Refusal
from gateway.store.calls import place_of
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.schema import calls
from gateway.store.sealing import SealBroken


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """Approvals over SQLite."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield Office(database, FakeClock())


@pytest.mark.parametrize(
    ("failure", "fault"),
    [
        (StoreDown("private words", Fault.TIMEOUT), Fault.TIMEOUT),
        (StoreRefused("private words"), Fault.ERROR),
        (SealBroken("private words"), Fault.ERROR),
        (KeptUnreadable("private words"), Fault.ERROR),
    ],
)
def test_what_breaks_underneath_refuses(failure: Exception, fault: Fault) -> None:
    """With how it broke, for the line, and without its words."""
    with pytest.raises(Refusal) as caught, told_as_refusal():
        raise failure
    assert (caught.value.reason, caught.value.fault) == (Reason.APPROVALS_UNAVAILABLE, fault)
    assert "private" not in caught.value.message


def test_anything_else_goes_its_way() -> None:
    """A fault of ours is no failure of the store."""
    with pytest.raises(ZeroDivisionError), told_as_refusal():
        _ = 1 // 0


@pytest.mark.parametrize("column", ["arguments", "principal"])
async def test_what_was_sealed_for_another_call_does_not_run(office: Office, column: str) -> None:
    """Whoever can write to the database cannot put another call's content under an approval."""
    mine, other = await office.given(call_id="c1"), await office.given(call_id="c2")
    async with office.database.tenant("acme") as session:
        row = calls.c
        theirs = calls.select().where(row.call_id == "c2")
        found = (await session.execute(theirs)).one()
        await session.execute(update(calls).where(row.call_id == "c1").values({column: getattr(found, column)}))
    with pytest.raises(Refusal) as caught:
        await office.approvals.approved("acme", mine)
    assert caught.value.reason is Reason.APPROVALS_UNAVAILABLE
    assert (await office.approved(other)).call_id == "c2"


async def test_the_principal_of_another_tenant_does_not_run(office: Office) -> None:
    """Whatever the seal says of it."""
    approval_id = await office.given(call_id="c1")
    stranger = (await office.approved(approval_id)).principal.policy_json.replace(b'"acme"', b'"other"')
    sealed = await office.seal.seal("acme", place_of("c1"), stranger)
    async with office.database.tenant("acme") as session:
        await session.execute(update(calls).where(calls.c.call_id == "c1").values(principal=sealed))
    with pytest.raises(Refusal):
        await office.approvals.approved("acme", approval_id)
