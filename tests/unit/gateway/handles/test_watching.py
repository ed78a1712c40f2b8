"""Following a call."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.approvals_rows import asked
from fakes.calls import opened_call
from fakes.clock import START
from fakes.handles import FakeCourse, Replica, replica
from fakes.principals import principal
from real.stores import sqlite_settings

from gateway.call import Failure, PendingState, Result
from gateway.errors import Reason, Refusal, Refused
from gateway.handles import watching
from gateway.handles.base import Seen
from gateway.settings.handles import HandleSettings
from gateway.store import calls as rows
from gateway.store.columns import moment_of
from gateway.store.writers import hold


@pytest.fixture
async def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Replica]:
    """A gateway that looks again soon."""
    monkeypatch.setattr(watching, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(watching, "STEP_SECONDS", 0.01)
    async with replica(await sqlite_settings(tmp_path), settings=HandleSettings(most_watchers=1)) as made:
        yield made


async def test_a_call_that_is_not_there_is_told_once(one: Replica) -> None:
    """And that was it."""
    seen = [each async for each in one.handles.watch(one.caller, "none")]
    assert [isinstance(each.answer.outcome, Failure) for each in seen] == [True]
    assert one.handles.watchers == 0


async def test_a_call_elsewhere_is_followed_by_its_row(one: Replica) -> None:
    """Through a person's decision to its end; the same is not told twice."""
    async with one.database.tenant("acme") as session:
        await hold(session, "w9", now=moment_of(START), until=moment_of(START + 3600))
        await rows.open_call(session, opened_call(writer="w9", state=rows.PARKED, arguments=b"sealed", key="k"))
        await asked(session, "a1", "c1")
    seen: list[Seen] = []
    async for each in one.handles.watch(one.caller, "c1"):
        seen.append(each)
        async with one.database.tenant("acme") as session:
            if len(seen) == 1:
                await rows.resume(session, "c1", writer="w9")
            else:
                until = moment_of(START + 60)
                await rows.finish(session, "c1", outcome="ok", result=None, now=moment_of(START), until=until)
    states = [getattr(each.answer.outcome, "state", None) for each in seen]
    assert states == [PendingState.APPROVAL, PendingState.RUNNING, None]


async def test_a_call_that_ends_while_the_store_is_owed_is_told(one: Replica) -> None:
    """From memory; nothing is asked in a circle."""
    answer = await one.yielded()
    stream = one.handles.watch(one.caller, answer.call_id)
    await anext(stream)
    one.adapter.gate.set()
    last = [each async for each in stream][-1]
    assert isinstance(last.answer.outcome, Result)


async def test_one_agent_has_so_many_places(one: Replica) -> None:
    """Another has its own; an ended one is free again."""
    answer = await one.yielded()
    first = one.handles.watch(one.caller, answer.call_id)
    await anext(first)
    with pytest.raises(Refusal) as caught:
        await anext(one.handles.watch(one.caller, answer.call_id))
    assert caught.value.reason is Reason.CALLER_RATE
    await anext(one.handles.watch(principal(agent="other"), answer.call_id))
    await first.aclose()
    second = one.handles.watch(one.caller, answer.call_id)
    assert await anext(second)
    await second.aclose()


@pytest.mark.parametrize("is_here", [True, False])
async def test_the_end_of_the_gateway_ends_every_stream(
    one: Replica, monkeypatch: pytest.MonkeyPatch, is_here: bool
) -> None:
    """At once, also of those that wait for the store."""
    monkeypatch.setattr(watching, "POLL_SECONDS", 60)
    async with one.database.tenant("acme") as session:
        await hold(session, "w9", now=moment_of(START), until=moment_of(START + 3600))
        await rows.open_call(session, opened_call("elsewhere", writer="w9"))
    call_id = (await one.yielded()).call_id if is_here else "elsewhere"
    stream = one.handles.watch(one.caller, call_id)
    await anext(stream)
    waiting = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    one.handles.drain()
    with pytest.raises(Refused):
        await asyncio.wait_for(waiting, 5)


async def test_how_far_a_vendor_says_to_be_is_told_when_it_changes(one: Replica) -> None:
    """Each time once; the time alone is no change."""
    answer = await one.yielded()
    course = one.handles._here.by_id[answer.call_id].course
    stream = one.handles.watch(one.caller, answer.call_id)
    assert (await anext(stream)).progress is None
    assert isinstance(course, FakeCourse)
    course.progress = (1.0, 4.0)
    assert (await anext(stream)).progress == (1.0, 4.0)
    one.adapter.gate.set()
    assert [each.has_ended for each in [each async for each in stream]][-1]
