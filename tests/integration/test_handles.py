"""Handles over the whole path and over two replicas of one PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.handle_server import Asker, serving
from fakes.handles import FakeParked, Heard, Replica, replica, request_of
from fakes.path import Road, road
from fakes.seal import FakeSeal
from real.postgres import Postgres
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.call import Answer, Failure, Pending, Result
from gateway.errors import Reason
from gateway.handles.base import Stopped
from gateway.handles.handles import HandleParts, Handles
from gateway.handles.kept import KeptCalls
from gateway.settings.handles import HandleSettings
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

NOTE = b'{"path":"a","body":"b"}'


# Two replicas.


@pytest.fixture
async def replicas(server: Postgres) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two gateways over one database, each with a second hand of its own."""
    settings = await postgres_settings(server, timeout_ms=5000)
    clock = FakeClock(sleeps_pass=True)
    async with replica(settings, clock) as one, replica(settings, clock, writer="w2") as two:
        yield one, two


async def _handle(asker: Asker, one: Replica, tool: str = "note") -> str:
    one.adapter.gate = one.adapter.gate or asyncio.Event()
    answer = await asker.CallTool(pb.CallToolRequest(tool=tool, arguments_json=b"{}", yield_after_ms=1))
    assert answer.pending.state == pb.PENDING_STATE_RUNNING
    return str(answer.call_id)


async def test_a_call_of_one_replica_is_found_at_the_other(replicas: tuple[Replica, Replica], tmp_path: Path) -> None:
    """While it runs, and when it has ended; sealed in between."""
    one, two = replicas
    async with serving(one, tmp_path) as (here, _), serving(two, tmp_path) as (there, _):
        call_id = await _handle(here, one)
        running = (await there.GetCall(pb.GetCallRequest(call_id=call_id))).call
        one.adapter.gate.set()
        await one.settled()
        ended = (await there.GetCall(pb.GetCallRequest(call_id=call_id))).call
    assert running.pending.state == pb.PENDING_STATE_RUNNING
    assert (ended.call_id, ended.result.receipt) == (call_id, "Done.")


async def test_a_call_of_one_replica_is_stopped_at_the_other(replicas: tuple[Replica, Replica], tmp_path: Path) -> None:
    """Which says what came of it once the first has looked."""
    one, two = replicas
    async with serving(one, tmp_path) as (here, _), serving(two, tmp_path) as (there, _):
        write, read = await _handle(here, one), await _handle(here, one, "echo")

        async def sleep(_: float) -> None:
            await one.handles.tick()
            await asyncio.sleep(0.01)

        one.clock.sleep = sleep  # type: ignore[method-assign]
        told = [(await there.CancelCall(pb.CancelCallRequest(call_id=call_id))).cancelled for call_id in (write, read)]
        late = (await there.CancelCall(pb.CancelCallRequest(call_id=read))).cancelled
        answer = (await there.GetCall(pb.GetCallRequest(call_id=write))).call
    assert told == [pb.CANCELLED_MAY_HAVE_HAPPENED, pb.CANCELLED_NOTHING_DONE]
    assert late == pb.CANCELLED_NOTHING_DONE
    assert answer.error.reason == codes_pb2.REASON_OUTCOME_UNKNOWN


async def test_a_database_that_stands_still_gives_no_handle(
    replicas: tuple[Replica, Replica], server: Postgres
) -> None:
    """The call is waited for; its end is told when the database is back."""
    one, _ = replicas
    one.database._seconds = 0.3
    one.adapter.gate = asyncio.Event()
    answer = await one.yielded()
    server.freeze()
    try:
        waited = asyncio.create_task(one.call("note", yield_after_ms=1))
        done, _ = await asyncio.wait((waited,), timeout=1)
        assert not done
        one.adapter.gate.set()
        assert isinstance((await waited).outcome, Result)
        await one.settled()
        assert one.handles.owed >= 1
    finally:
        server.thaw()
        one.database._seconds = 5.0
    while one.handles.owed:
        await one.handles.tick()
    outcome = (await one.handles.get(one.caller, answer.call_id)).answer.outcome
    assert isinstance(outcome, Result)


# The whole path.


class Whole:
    """Handles over a road."""

    def __init__(self, one: Road, handles: Handles) -> None:
        self.road = one
        self.handles = handles

    async def call(
        self, tool: str = "note", arguments: bytes = NOTE, heard: Heard | None = None, **more: Any
    ) -> Answer:
        """Call as a surface does."""
        asked = replace(request_of(tool, **more), arguments_json=arguments)
        with self.road.admission.room:
            return await self.handles.call(self.road.caller, asked, heard or Heard())

    async def lines(self, count: int) -> list[dict[str, Any]]:
        """Every line, once there are so many."""
        while len(self.road.lines) < count:
            await asyncio.sleep(0.01)
        return self.road.lines


@pytest.fixture
async def whole(tmp_path: Path) -> AsyncIterator[Whole]:
    """A gateway's path with handles over it."""
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(road())
        database = await stack.enter_async_context(opened(await sqlite_settings(tmp_path), one.clock))
        settings = HandleSettings()
        kept = KeptCalls(database, writer="w1", clock=one.clock, seal=FakeSeal(), settings=settings)
        parts = HandleParts(
            calls=one.pipeline,
            kept=kept,
            keys=one.pipeline._parts.keys,
            parked=FakeParked(),
            admission=one.admission,
            clock=one.clock,
            settings=settings,
        )
        handles = Handles(parts)
        yield Whole(one, handles)
        if one.adapter.gate is not None:
            one.adapter.gate.set()
        await handles.stop(seconds=5)


async def test_a_yielded_call_leaves_one_line_and_one_effect(whole: Whole) -> None:
    """When it ends, as every call does; asking for it leaves none."""
    whole.road.adapter.gate = asyncio.Event()
    answer = await whole.call(yield_after_ms=50, key="k")
    assert isinstance(answer.outcome, Pending)
    assert whole.road.lines == []
    again = await whole.call(key="k")
    assert isinstance(again.outcome, Failure)
    assert again.outcome.reason is Reason.KEY_IN_PROGRESS
    whole.road.adapter.gate.set()
    lines = await whole.lines(2)
    seen = await whole.handles.get_by_key(whole.road.caller, "note", "k")
    assert (seen.answer.call_id, isinstance(seen.answer.outcome, Result)) == (answer.call_id, True)
    replay = await whole.call(key="k")
    assert (replay.is_replay, replay.effect_id) == (True, answer.call_id)
    assert {line["call_id"]: line["outcome"] for line in lines}[answer.call_id] == "ok"
    assert (len(whole.road.lines), whole.road.effects) == (3, 1)


async def test_a_write_that_is_stopped_at_its_vendor_keeps_its_key(whole: Whole) -> None:
    """Its line says unknown, and nobody does it again under the same key."""
    whole.road.adapter.gate = asyncio.Event()
    answer = await whole.call(yield_after_ms=50, key="k")
    stop = await whole.handles.cancel(whole.road.caller, answer.call_id)
    assert stop.kind is Stopped.MAY_HAVE_HAPPENED
    (line,) = await whole.lines(1)
    assert (line["outcome"], line["happened"]) == ("unknown", "unknown")
    again = await whole.call(key="k")
    assert isinstance(again.outcome, Failure)
    assert again.outcome.reason is Reason.OUTCOME_UNKNOWN
    assert whole.road.effects == 1


async def test_a_call_that_is_stopped_before_its_intent_frees_its_key(whole: Whole) -> None:
    """Nothing was done, and its line says cancelled."""
    gate = asyncio.Event()
    whole.road.limiter_gate = gate.wait
    heard = Heard()
    calling = asyncio.create_task(whole.call(key="k", heard=heard))
    while "limits" not in whole.road.seen:
        await asyncio.sleep(0)
    assert (await whole.handles.cancel(whole.road.caller, heard.call_id)).kind is Stopped.NOTHING_DONE
    outcome = (await calling).outcome
    assert isinstance(outcome, Failure)
    assert outcome.reason is Reason.CANCELLED
    gate.set()
    assert isinstance((await whole.call(key="k")).outcome, Result)
    assert [line["outcome"] for line in whole.road.lines] == ["cancelled", "ok"]
    assert whole.road.effects == 1


async def test_the_steps_of_the_path_are_seen_while_it_runs(whole: Whole) -> None:
    """Where the call waits."""
    whole.road.adapter.gate = asyncio.Event()
    answer = await whole.call("echo", b'{"text":"x"}', yield_after_ms=50)
    seen = await whole.handles.get(whole.road.caller, answer.call_id)
    assert (seen.step, seen.has_ended) == ("adapter", False)
