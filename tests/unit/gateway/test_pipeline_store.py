"""The path over a real store: keys, charges and approvals as one database keeps them, and not as fakes do."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.approvals import Office, person
from fakes.clock import FakeClock
from fakes.engine import ALLOW, FakeEngine
from fakes.path import Road, RowChanges, road
from real.stores import locked, opened, sqlite_settings
from sqlalchemy import select

from adapters.base import AdapterError, ErrorKind, Happened
from gateway.approvals.base import Verdict
from gateway.budget.store import StoreBudget
from gateway.call import Answer, Failure, Pending, PendingState, Result
from gateway.errors import Reason
from gateway.store.database import Database
from gateway.store.schema import budgets

NOTE = '{"path":"a.txt","body":"hi"}'
PRICE = {"cost": {"money": {"currency": "EUR", "amount": 60}}}
ids = itertools.count()


def asking(count: int = 1) -> str:
    """A decision that asks for so many approvers."""
    terms = {"roles": ["approver"], "count": count, "expires_in_seconds": 3600}
    return json.dumps(
        {"effect": "require_approval", "reasons": [], "obligations": [{"type": "approval", "value": terms}]}
    )


class StoredRoad(Road):
    """A road over a database. `office` is where people approve."""

    office: Office
    database: Database
    path: Path

    async def approve(self, answer: Answer, *people: str) -> None:
        """These people approve what was parked, as they see it."""
        assert isinstance(answer.outcome, Pending)
        for name in people or ("ann",):
            seen = await self.office.desk.get(person(name), answer.outcome.approval_id)
            verdict = Verdict(
                approval_id=seen.approval_id, approve=True, reason="Fine.", arguments_digest=seen.arguments_digest
            )
            await self.office.desk.decide(person(name), verdict)

    async def run(self, answer: Answer) -> Answer:
        """Carry it out, and keep what came of it."""
        assert isinstance(answer.outcome, Pending)
        approved = await self.office.approved(answer.outcome.approval_id)
        ended = await self.execute(approved)
        await self.approvals.ended(approved, ended.outcome)
        return ended

    async def counted(self) -> list[tuple[int, int]]:
        """What is spent and reserved of every counter."""
        async with self.database.tenant("acme", is_read=True) as session:
            found = await session.execute(select(budgets.c.spent, budgets.c.reserved))
            return [(spent, reserved) for spent, reserved in found]


@contextlib.asynccontextmanager
async def stored(tmp_path: Path, answer: str = ALLOW, **changes: Any) -> AsyncIterator[StoredRoad]:
    """A road over SQLite, on which calls of `note` cost 60 of 100 cents a day."""
    clock = FakeClock()
    settings = await sqlite_settings(tmp_path)
    async with opened(settings, clock) as database:
        office = Office(database, clock, writer=f"w{next(ids)}")
        rows = RowChanges(
            agent={"budgets": [{"unit": "EUR", "limit": 100, "scope": "agent_day"}]},
            tools={"note": PRICE, "echo": PRICE},
        )
        one = StoredRoad(
            clock=clock,
            engine=FakeEngine(answer),
            keys=office.keys,
            approvals=office.approvals,
            budget=StoreBudget(database, clock=clock),
            rows=rows,
            **changes,
        )
        one.office, one.database, one.path = office, database, settings.path
        async with road(one):
            yield one


def reason_of(answer: Answer) -> Reason:
    """Why it was stopped."""
    assert isinstance(answer.outcome, Failure)
    return answer.outcome.reason


async def test_a_key_is_one_effect_and_is_paid_for_once(tmp_path: Path) -> None:
    """The first result again, sealed and opened by the store; what a second one would cost is not there."""
    async with stored(tmp_path) as one:
        first = await one.call("note", NOTE, key="k")
        again = await one.call("note", NOTE, key="k")
        assert (again.is_replay, again.outcome) == (True, first.outcome)
        assert reason_of(await one.call("note", NOTE, key="k2")) is Reason.BUDGET_SPENT
        assert await one.counted() == [(60, 0)]
        assert one.effects == 1


@pytest.mark.parametrize(
    ("happened", "left"), [(Happened.YES, (60, 0)), (Happened.NO, (0, 0)), (Happened.UNKNOWN, (0, 60))]
)
async def test_what_became_of_a_write_is_what_the_store_says_of_key_and_budget(
    tmp_path: Path, happened: Happened, left: tuple[int, int]
) -> None:
    """Done and spent; free and free; unknown and kept."""
    async with stored(tmp_path) as one:
        one.adapter.failures.append(AdapterError(ErrorKind.UNAVAILABLE, "No.", happened=happened))
        await one.call("note", NOTE, key="k")
        assert await one.counted() == [left]
        again = await one.call("note", NOTE, key="k")
        assert one.effects == (2 if happened is Happened.NO else 1)
        assert isinstance(again.outcome, Failure if happened is Happened.UNKNOWN else Result)


async def test_fifty_calls_at_once_with_one_key_are_one_effect(tmp_path: Path) -> None:
    """And one charge."""
    async with stored(tmp_path) as one:
        answers = await asyncio.gather(*(one.call("note", NOTE, key="k") for _ in range(50)))
        assert one.effects == 1
        assert {type(answer.outcome) for answer in answers} <= {Result, Failure}
        assert await one.counted() == [(60, 0)]
        assert len(one.lines) == 50


async def test_a_read_that_costs_is_counted(tmp_path: Path) -> None:
    """Without any key."""
    async with stored(tmp_path) as one:
        await one.call("echo", '{"text":"hi"}')
        assert await one.counted() == [(60, 0)]
        assert reason_of(await one.call("echo", '{"text":"hi"}')) is Reason.BUDGET_SPENT
        assert one.effects == 1


async def test_an_approved_call_runs_once_under_its_own_key(tmp_path: Path) -> None:
    """Parked, told again as parked, approved, carried out, and replayed; nothing is charged before it runs."""
    async with stored(tmp_path, asking()) as one:
        first = await one.call("note", NOTE, key="k")
        again = await one.call("note", NOTE, key="k")
        assert (again.is_replay, again.outcome) == (True, first.outcome)
        assert reason_of(await one.call("note", '{"path":"b"}', key="k")) is Reason.KEY_REUSED
        assert await one.counted() == []
        await one.approve(first)
        done = await one.run(first)
        assert isinstance(done.outcome, Result)
        assert done.call_id == first.call_id
        replay = await one.call("note", NOTE, key="k")
        assert (replay.is_replay, replay.outcome) == (True, done.outcome)
        assert (one.effects, await one.counted()) == (1, [(60, 0)])


async def test_an_approval_is_used_once(tmp_path: Path) -> None:
    """Whoever runs it a second time is refused by the claim."""
    async with stored(tmp_path, asking()) as one:
        answer = await one.call("note", NOTE, key="k")
        await one.approve(answer)
        assert isinstance(answer.outcome, Pending)
        approved = await one.office.approved(answer.outcome.approval_id)
        both = await asyncio.gather(one.execute(approved), one.execute(approved))
        assert sorted(type(each.outcome).__name__ for each in both) == ["Failure", "Result"]
        assert one.effects == 1


async def test_what_does_not_fit_the_budget_uses_no_approval(tmp_path: Path) -> None:
    """Key, charges and approval are one transaction: it may run when there is room again."""
    async with stored(tmp_path, asking()) as one:
        answer = await one.call("note", NOTE, key="k")
        await one.approve(answer)
        one.engine.answer = ALLOW
        await one.call("note", NOTE, key="other")
        assert isinstance(answer.outcome, Pending)
        approved = await one.office.approved(answer.outcome.approval_id)
        assert reason_of(await one.execute(approved)) is Reason.BUDGET_SPENT
        one.clock.advance(3000)
        one.rows.agent = {}
        one.load()
        assert isinstance((await one.execute(approved)).outcome, Result)


async def test_another_version_is_not_what_was_approved(tmp_path: Path) -> None:
    """Nothing is sent, and nothing is charged."""
    async with stored(tmp_path, asking()) as one:
        answer = await one.call("note", NOTE, key="k")
        await one.approve(answer)
        one.rows.tools["note"] = {**PRICE, "version": "2"}
        one.load()
        assert reason_of(await one.run(answer)) is Reason.APPROVAL_MISMATCH
        assert (one.effects, await one.counted()) == (0, [])


async def test_under_stricter_terms_it_waits_for_one_more(tmp_path: Path) -> None:
    """Under the same key; the approval that there is counts, and the first one runs nothing any more."""
    async with stored(tmp_path, asking()) as one:
        answer = await one.call("note", NOTE, key="k")
        await one.approve(answer)
        one.engine.answer = asking(2)
        second = await one.run(answer)
        assert isinstance(second.outcome, Pending)
        told = (await one.call("note", NOTE, key="k")).outcome
        assert isinstance(told, Pending)
        assert (told.approval_id, told.state) == (second.outcome.approval_id, PendingState.APPROVAL)
        await one.approve(second, "bob")
        assert isinstance((await one.run(second)).outcome, Result)
        assert one.effects == 1


async def test_a_store_that_is_locked_sends_nothing(tmp_path: Path) -> None:
    """The claim cannot be written: unavailable, and the key works once the store does."""
    async with stored(tmp_path) as one:
        with locked(one.path):
            assert reason_of(await one.call("note", NOTE, key="k")) is Reason.STORE_UNAVAILABLE
        assert one.effects == 0
        assert isinstance((await one.call("note", NOTE, key="k")).outcome, Result)


async def test_a_store_that_is_locked_after_the_send_owes_nothing_to_the_caller(tmp_path: Path) -> None:
    """It happened, and the lease is good: the answer leaves with its line, and the store hears of it later."""
    async with stored(tmp_path) as one:
        await one.keys.of("acme").mend()
        gate = asyncio.Event()
        one.adapter.gate = gate
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        await one.adapter.started.wait()
        with locked(one.path):
            gate.set()
            assert isinstance((await task).outcome, Result)
        assert (await one.call("note", NOTE, key="k")).is_replay
        assert await one.counted() == [(60, 0)]
