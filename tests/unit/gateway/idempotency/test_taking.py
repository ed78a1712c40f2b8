"""One transaction of a claim: what it takes together, what it leaves, and what an undo makes free."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.claims import LATER, NOW, claim, put
from fakes.spending import charge, counters
from real.stores import opened, sqlite_settings
from sqlalchemy import select

from gateway.call import ApprovalUse, Standing
from gateway.idempotency.taking import ApprovalUnusable, Entry, TooMuch, take, undo
from gateway.store import keys
from gateway.store.database import Database, Session
from gateway.store.schema import approvals, idempotency

ENTRY = Entry(writer="w1", intent=b"{}", arguments=None, now=NOW)
USE = ApprovalUse(approval_id="a1", arguments_digest="sha256:aa", tool_version="1", connection="mail")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A database with a writer, and a parked call whose approval is open."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        async with database.tenant("acme") as session:
            await put(session, is_asked=True)
        yield database


async def _approve(session: Session) -> None:
    parked = claim("c1", "parked")
    await keys.take(session, parked, writer="w1", intent=b"{}", arguments=None, now=NOW)
    await session.execute(idempotency.update().values(standing=Standing.PARKED.value, approval_id="a1"))
    await session.execute(approvals.update().values(state="approved", decided_at=NOW))


async def test_the_charge_that_does_not_fit_takes_the_key_with_it(database: Database) -> None:
    """The caller undoes the transaction, and no counter has moved."""
    wanted = replace(claim("c2"), charges=(charge(name="a"), charge(name="b", amount=2, limit=1)))
    with pytest.raises(TooMuch) as caught:
        async with database.tenant("acme") as session:
            await take(session, wanted, ENTRY)
    assert caught.value.charge.name == "b"
    async with database.tenant("acme", is_read=True) as session:
        assert await keys.find(session, "k", NOW) is None
        assert not any(reserved for _, reserved in (await counters(session)).values())


async def test_who_comes_second_learns_of_the_first_and_pays_nothing(database: Database) -> None:
    """Whatever the second one would have cost."""
    async with database.tenant("acme") as session:
        assert await take(session, claim("c2"), ENTRY) is None
        known = await take(session, replace(claim("c3"), charges=(charge(),)), ENTRY)
        assert known is not None
        assert (known.call_id, known.standing) == ("c2", Standing.IN_PROGRESS)
        assert "mail" not in await counters(session)


@pytest.mark.parametrize(
    "use",
    [
        replace(USE, approval_id="a2"),
        replace(USE, arguments_digest="sha256:bb"),
        replace(USE, tool_version="2"),
        replace(USE, connection="other"),
    ],
    ids=["another approval", "other arguments", "another version", "another connection"],
)
async def test_an_approval_of_something_else_is_unusable(database: Database, use: ApprovalUse) -> None:
    """Each of what it is bound to."""
    async with database.tenant("acme") as session:
        await _approve(session)
        with pytest.raises(ApprovalUnusable):
            await take(session, replace(claim("c1", "parked"), approval=use), ENTRY)


async def test_an_approval_is_used_once(database: Database) -> None:
    """And what nobody has approved yet is not used at all."""
    execution = replace(claim("c1", "parked"), approval=USE)
    with contextlib.suppress(ApprovalUnusable):
        async with database.tenant("acme") as session:
            await take(session, execution, ENTRY)
            pytest.fail("nobody approved it")
    async with database.tenant("acme") as session:
        await _approve(session)
        assert await take(session, execution, ENTRY) is None
        with pytest.raises(ApprovalUnusable):
            await take(session, execution, ENTRY)


@pytest.mark.parametrize("is_taken", [True, False])
async def test_an_undo_frees_key_and_charges_whatever_the_store_had_done(database: Database, is_taken: bool) -> None:
    """Whether the transaction of which nobody heard went through or not."""
    wanted = replace(claim("c2"), charges=(charge(),))
    if is_taken:
        async with database.tenant("acme") as session:
            await take(session, wanted, ENTRY)
    async with database.tenant("acme") as session:
        await undo(session, wanted, ENTRY, LATER)
    async with database.tenant("acme", is_read=True) as session:
        assert await keys.find(session, "k", NOW) is None
        assert (await counters(session)).get("mail", (0, 0)) == (0, 0)


async def test_an_undone_execution_frees_its_key_and_its_approval_stays_used(database: Database) -> None:
    """Better one that has to be asked for again than one that counts twice."""
    execution = replace(claim("c1", "parked"), approval=USE)
    async with database.tenant("acme") as session:
        await _approve(session)
        await take(session, execution, ENTRY)
    async with database.tenant("acme") as session:
        await undo(session, execution, ENTRY, LATER)
    async with database.tenant("acme", is_read=True) as session:
        assert await keys.find(session, "parked", NOW) is None
        assert (await session.execute(select(approvals.c.state))).scalar_one() == "used"


def test_what_is_written_is_not_shown() -> None:
    """Neither the intent nor the sealed arguments."""
    assert "bytes-of" not in repr(Entry(writer="w1", intent=b"bytes-of", arguments=b"bytes-of", now=NOW))
