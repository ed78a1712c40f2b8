"""What a call costs on its path: reserved before it is sent, and spent, kept or free by what became of it."""

import asyncio
from typing import Any

import pytest
from fakes.engine import FakeEngine
from fakes.path import Road, RowChanges, ended, road

from adapters.base import AdapterError, ErrorKind, Happened
from gateway.budget.base import OpenRun
from gateway.call import Answer, Failure, Result
from gateway.errors import Reason, Refusal

NOTE = '{"path":"a.txt","body":"hi"}'
SEALED = "note_sealed"
ECHO = '{"text":"hi"}'
PRICE = {"cost": {"money": {"currency": "EUR", "amount": 60}}}
ASK = '{"effect":"require_approval","reasons":[],"obligations":[]}'


def priced(limit: int = 100, **changes: Any) -> Road:
    """A road on which writes and reads cost 60 cents each, of so many a day."""
    budgets = [{"unit": "EUR", "limit": limit, "scope": "agent_day"}]
    rows = RowChanges(agent={"budgets": budgets}, tools={SEALED: PRICE, "note": PRICE, "echo": PRICE})
    return Road(rows=rows, **changes)


def counted(one: Road) -> tuple[int, int]:
    """What is spent, and what is reserved."""
    return sum(one.budget.spent.values()), sum(one.budget.reserved.values())


def reason_of(answer: Answer) -> Reason:
    """Why it was stopped."""
    assert isinstance(answer.outcome, Failure)
    return answer.outcome.reason


def vendor_error(happened: Happened) -> AdapterError:
    """The vendor did not do it, or may have."""
    return AdapterError(ErrorKind.UNAVAILABLE, "Not now.", happened=happened)


async def test_what_a_write_costs_is_reserved_while_it_runs_and_spent_when_it_is_done() -> None:
    """And its line says how much."""
    async with road(priced()) as one:
        one.adapter.gate = asyncio.Event()
        task = asyncio.create_task(one.call("note", NOTE, key="k"))
        await one.adapter.started.wait()
        assert counted(one) == (0, 60)
        one.adapter.gate.set()
        await task
        assert counted(one) == (60, 0)
        assert one.lines[0]["cost"] == {"EUR": 60}


@pytest.mark.parametrize(
    ("happened", "left"), [(Happened.YES, (60, 0)), (Happened.NO, (0, 0)), (Happened.UNKNOWN, (0, 60))]
)
async def test_what_became_of_a_write_decides_what_it_cost(happened: Happened, left: tuple[int, int]) -> None:
    """Done: spent. Certainly not: free again. Nobody knows: kept, so that it cannot be spent twice."""
    async with road(priced()) as one:
        one.adapter.failures.append(vendor_error(happened))
        await one.call("note", NOTE, key="k")
        assert counted(one) == left


@pytest.mark.parametrize("tool", [SEALED, "echo"])
async def test_what_was_stopped_before_it_was_sent_costs_nothing(tool: str) -> None:
    """At the last step before the send, with everything reserved."""
    async with road(priced()) as one:
        one.hook("claim", lambda: one.halts.tools.add(tool))
        if tool == "echo":
            one.hook("limits", lambda: one.halts.tools.add(tool))
        answer = await one.call(tool, NOTE if tool == SEALED else ECHO, key="k")
        assert reason_of(answer) is Reason.STOPPED
        assert one.lines[0]["stopped_at"] == "adapter"
        assert counted(one) == (0, 0)


async def test_a_credential_that_is_missing_costs_nothing() -> None:
    """The reservation ends with the claim."""
    async with road(priced()) as one:
        one.source.values.clear()
        assert reason_of(await one.call(SEALED, NOTE, key="k")) is Reason.CREDENTIAL_MISSING
        assert counted(one) == (0, 0)


async def test_what_does_not_fit_is_refused_before_anything_is_fetched() -> None:
    """The key stays free; nothing of it is reserved; a smaller one passes."""
    async with road(priced()) as one:
        await one.call("note", NOTE, key="k1")
        one.seen.clear()
        answer = await one.call(SEALED, NOTE, key="k2")
        assert reason_of(answer) is Reason.BUDGET_SPENT
        assert isinstance(answer.outcome, Failure)
        assert answer.outcome.retry_after_ms > 0
        assert one.seen[-2:] == ["claim", "audit"]
        assert counted(one) == (60, 0)
        one.rows.tools[SEALED] = {"cost": {"money": {"currency": "EUR", "amount": 40}}}
        one.load()
        assert isinstance((await one.call(SEALED, NOTE, key="k2")).outcome, Result)
        assert counted(one) == (100, 0)


async def test_many_at_once_do_not_spend_more_than_there_is() -> None:
    """Of ten that would all fit alone, as many pass as fit together."""
    async with road(priced(limit=200)) as one:
        answers = await asyncio.gather(*(one.call("note", NOTE, key=f"k{number}") for number in range(10)))
        assert sum(isinstance(answer.outcome, Result) for answer in answers) == one.effects == 3
        assert counted(one) == (180, 0)


async def test_a_replay_costs_nothing() -> None:
    """Whatever is left, and however often."""
    async with road(priced()) as one:
        await one.call("note", NOTE, key="k")
        for _ in range(3):
            assert (await one.call("note", NOTE, key="k")).is_replay
        assert counted(one) == (60, 0)


async def test_an_explanation_costs_nothing() -> None:
    """It says what a call would get, though nothing is left."""
    async with road(priced(limit=60)) as one:
        await one.call("note", NOTE, key="k1")
        assert (await one.explain("note", NOTE, key="k2")).failure is None
        assert counted(one) == (60, 0)


async def test_a_parked_call_costs_nothing_until_it_runs() -> None:
    """Then it is charged as any other, and what does not fit any more does not run."""
    async with road(priced(limit=60, engine=FakeEngine(ASK))) as one:
        await one.call("note", NOTE, key="k1")
        await one.call("note", NOTE, key="k2")
        first, second = one.approvals.approve("apr_1"), one.approvals.approve("apr_2")
        assert counted(one) == (0, 0)
        assert isinstance((await one.execute(first)).outcome, Result)
        assert reason_of(await one.execute(second)) is Reason.BUDGET_SPENT
        assert counted(one) == (60, 0)
        assert "apr_2" in one.keys.of("acme").approvals


async def test_a_read_that_costs_is_charged_once_its_vendor_was_asked() -> None:
    """Whatever the vendor answered: it was used."""
    async with road(priced(limit=1000)) as one:
        await one.call("echo", ECHO)
        assert counted(one) == (60, 0)
        one.adapter.failures.append(vendor_error(Happened.NO))
        await one.call("echo", ECHO)
        assert counted(one) == (120, 0)


async def test_a_read_whose_caller_leaves_leaves_nothing_reserved() -> None:
    """Its vendor was asked, so it is spent; before that it is free again."""
    async with road(priced(limit=1000)) as one:
        one.adapter.gate = asyncio.Event()
        task = asyncio.create_task(one.call("echo", ECHO))
        await one.adapter.started.wait()
        assert counted(one) == (0, 60)
        task.cancel()
        assert isinstance(await ended(task), asyncio.CancelledError)
        assert counted(one) == (60, 0)


async def test_a_read_that_costs_is_not_made_while_nobody_can_count() -> None:
    """Fail closed: no vendor is asked. One that costs nothing passes."""
    async with road(priced()) as one:
        one.budget.is_down = True
        assert reason_of(await one.call("echo", ECHO)) is Reason.STORE_UNAVAILABLE
        assert one.effects == 0
        assert isinstance((await one.call("echo_mode", ECHO, mode="work")).outcome, Result)


async def test_arguments_that_say_no_price_are_refused() -> None:
    """What cannot be counted would pass every limit: it is invalid before any key is looked at."""
    async with road(priced()) as one:
        one.rows.tools["note"] = {"cost": {"counts": {"bodies": "/body"}}}
        one.load()
        answer = await one.call("note", NOTE, key="k")
        assert reason_of(answer) is Reason.ARGUMENTS_INVALID
        assert one.seen == ["begin", "registry", "arguments", "audit"]


class Runs:
    """`FindRun`: every run is open, or nobody knows."""

    def __init__(self, *, is_down: bool = False) -> None:
        self.is_down = is_down

    async def find(self, tenant: str, agent: str, run_id: str) -> OpenRun | None:
        """The run."""
        if self.is_down:
            raise Refusal(Reason.STORE_UNAVAILABLE, "Runs cannot be looked up now.")
        return OpenRun(run_id=run_id, opened_at=0.0, expires_at=9e9)


def capped(runs: Runs) -> Road:
    """A road on which a run may note once."""
    return Road(rows=RowChanges(agent={"caps": [{"limit": 1, "per": "run", "tools": ["note"]}]}), runs=runs)


async def test_a_cap_of_a_run_counts_that_run_alone() -> None:
    """Another run has its own."""
    async with road(capped(Runs())) as one:
        reasons = []
        for run, key in (("r1", "k1"), ("r1", "k2"), ("r2", "k3")):
            outcome = (await one.call("note", NOTE, key=key, run_id=run)).outcome
            reasons.append(outcome.reason if isinstance(outcome, Failure) else None)
        assert reasons == [None, Reason.CAP_REACHED, None]


async def test_where_nobody_knows_the_run_nothing_is_claimed() -> None:
    """It stops at the limits: no key, no credential, no vendor."""
    async with road(capped(Runs(is_down=True))) as one:
        assert reason_of(await one.call("note", NOTE, key="k", run_id="r1")) is Reason.STORE_UNAVAILABLE
        assert one.seen[-2:] == ["limits", "audit"]
        assert one.lines[0]["stopped_at"] == "limits"
