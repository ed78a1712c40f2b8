"""Counters and runs in a real PostgreSQL: what only a server with many transactions at once can show."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from fakes.claims import LATER, NOW, claim, put
from fakes.clock import START, FakeClock
from fakes.seal import FakeSeal
from fakes.spending import charge, counters
from real.postgres import Postgres
from real.stores import opened, postgres_settings

from gateway.budget.runs import Run, Runs
from gateway.errors import Refused, RefusedKind
from gateway.store import budgets, keys
from gateway.store.database import Database


@pytest.fixture
async def database(server: Postgres) -> AsyncIterator[Database]:
    """A database of its own."""
    async with opened(await postgres_settings(server)) as database:
        yield database


async def _held(database: Database, tenant: str = "acme") -> dict[str, tuple[int, int]]:
    async with database.tenant(tenant, is_read=True) as session:
        return await counters(session)


async def test_undoing_waits_for_a_reservation_that_is_still_to_end(database: Database) -> None:
    """A server that was slow to answer may do it after all, and nothing is held all the same."""
    async with database.tenant("acme") as slow:
        await budgets.reserve(slow, "e1", [charge()], NOW)

        async def undo() -> None:
            async with database.tenant("acme") as session:
                await budgets.undo(session, "e1", [charge()])

        undoing = asyncio.ensure_future(undo())
        done, _ = await asyncio.wait((undoing,), timeout=0.2)
        assert not done
    await undoing
    assert await _held(database) == {"mail": (0, 0)}


async def test_a_tenants_counters_are_nothing_to_another(database: Database) -> None:
    """Of the same name, and of the same effect."""
    for tenant in ("acme", "rival"):
        async with database.tenant(tenant) as session:
            assert await budgets.reserve(session, "e1", [charge(amount=10, limit=10)], NOW) is None
    async with database.tenant("rival") as session:
        await budgets.release(session, "e1")
    assert await _held(database) == {"mail": (0, 10)}
    assert await _held(database, "rival") == {"mail": (0, 0)}


async def test_claim_and_charges_are_one(database: Database) -> None:
    """Who is refused for a charge has not taken the key either."""
    async with database.tenant("acme") as session:
        await put(session)

    async def refused() -> None:
        async with database.tenant("acme") as session:
            await keys.take(session, claim(), writer="w1", intent=b"{}", arguments=None, now=NOW)
            if await budgets.reserve(session, "e-c1", [charge(name="a"), charge(limit=0)], NOW):
                raise LookupError

    with pytest.raises(LookupError):
        await refused()
    async with database.tenant("acme", is_read=True) as session:
        assert await keys.find(session, "k", NOW) is None
        assert await counters(session) == {}


async def test_purging_keeps_what_is_unknown_and_ends_what_was_abandoned(database: Database) -> None:
    """As on SQLite."""
    until = NOW.timestamp()
    async with database.tenant("acme") as session:
        await put(session)
        await keys.take(session, claim(), writer="w1", intent=b"{}", arguments=None, now=NOW)
        await keys.leave(session, claim())
        await budgets.reserve(session, "e-c1", [charge(name="unknown", expires_at=until)], NOW)
        await budgets.reserve(session, "read", [charge(name="read"), charge(name="over", expires_at=until)], NOW)
        await budgets.purge(session, LATER + timedelta(hours=1))
        assert await counters(session) == {"unknown": (0, 1), "read": (1, 0)}


async def test_of_many_who_open_a_run_at_once_one_says_what_is_in_it(database: Database) -> None:
    """The others are told that it is another."""
    replicas = [Runs(database, clock=FakeClock(), seal=FakeSeal()) for _ in range(2)]
    asked = [
        Run(run_id="r", agent="a", intent=f"{number % 5}", opened_by="w", opened_at=START, expires_at=START + 60)
        for number in range(20)
    ]
    ended = await asyncio.gather(
        *(replicas[number % 2].open("acme", run) for number, run in enumerate(asked)), return_exceptions=True
    )
    won = [one for one in ended if isinstance(one, Run)]
    assert len({run.intent for run in won}) == 1
    assert len(won) == 4
    lost = [one.kind for one in ended if isinstance(one, Refused)]
    assert lost == [RefusedKind.CONFLICT] * 16
