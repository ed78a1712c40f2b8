"""Handles over a socket: asking, following, stopping, and what was too large to send."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.handle_server import Asker, serving
from fakes.handles import Replica, replica
from fakes.limiter import FakeLimiter
from fakes.principals import principal
from real.stores import sqlite_settings

from gateway.admission import Admission
from gateway.rows import Rate
from gateway.settings.handles import HandleSettings
from gateway.surfaces.messages import STOPPED
from gateway.v1 import codes_pb2
from gateway.v1 import tool_service_pb2 as pb

STRANGER = principal(id="other-1", agent="other")
RUNNING, DONE = pb.PENDING_STATE_RUNNING, "result"


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway."""
    async with replica(await sqlite_settings(tmp_path), settings=HandleSettings(most_watchers=2)) as made:
        yield made


def _call(tool: str = "note", after: int = 1, key: str = "") -> pb.CallToolRequest:
    return pb.CallToolRequest(tool=tool, arguments_json=b"{}", yield_after_ms=after, idempotency_key=key)


async def _handle(one: Replica, asker: Asker, tool: str = "note", key: str = "") -> str:
    """The id of a call that goes on without its caller."""
    one.adapter.gate = one.adapter.gate or asyncio.Event()
    answer = await asker.CallTool(_call(tool, key=key))
    assert answer.pending.state == RUNNING
    return str(answer.call_id)


async def _got(asker: Asker, call_id: str) -> pb.CallToolResponse:
    return (await asker.GetCall(pb.GetCallRequest(call_id=call_id))).call


async def _status(asking: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asking
    return caught.value.code()


async def test_a_call_that_takes_long_is_asked_for_until_it_has_ended(one: Replica, tmp_path: Path) -> None:
    """By its id, on any connection of its agent."""
    async with serving(one, tmp_path) as (asker, _):
        call_id = await _handle(one, asker)
        assert (await _got(asker, call_id)).pending.state == RUNNING
        one.adapter.gate.set()
        await one.settled()
        answer = await _got(asker, call_id)
    assert (answer.call_id, answer.result.receipt, answer.replay) == (call_id, "Done.", False)


async def test_a_call_is_found_by_its_key(one: Replica, tmp_path: Path) -> None:
    """With its tool. One of the two ways has to be named."""
    async with serving(one, tmp_path) as (asker, _):
        call_id = await _handle(one, asker, key="k")
        found = await asker.GetCall(pb.GetCallRequest(tool="note", idempotency_key="k"))
        assert found.call.call_id == call_id
        for wrong in (pb.GetCallRequest(), pb.GetCallRequest(tool="note"), pb.GetCallRequest(idempotency_key="k")):
            assert await _status(asker.GetCall(wrong)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_call_of_another_agent_and_none_are_the_same_bytes(one: Replica, tmp_path: Path) -> None:
    """While it runs, and when it has ended; whether it is asked for, followed or stopped."""
    async with serving(one, tmp_path) as (asker, _), serving(one, tmp_path, STRANGER) as (stranger, _):
        call_id = await _handle(one, asker)
        for _ in range(2):
            answers = set()
            for asked in (call_id, "f" * 32):
                got = await stranger.GetCall(pb.GetCallRequest(call_id=asked))
                stopped = await stranger.CancelCall(pb.CancelCallRequest(call_id=asked))
                watched = [part async for part in stranger.WatchCall(pb.WatchCallRequest(call_id=asked))]
                answers.add((got.SerializeToString(), stopped.SerializeToString(), str(watched)))
                assert got.call.error.reason == codes_pb2.REASON_CALL_NOT_FOUND
                assert stopped.cancelled == pb.CANCELLED_NOT_FOUND
            assert len(answers) == 1
            one.adapter.gate.set()
            await one.settled()


async def test_a_call_is_followed_step_by_step_to_its_end(one: Replica, tmp_path: Path) -> None:
    """Once as it stands, then as it changes, last as it ended."""
    one.path.before = asyncio.Event()
    async with serving(one, tmp_path) as (asker, _):
        call_id = await _handle(one, asker)
        steps, last = [], None
        async for seen in asker.WatchCall(pb.WatchCallRequest(call_id=call_id)):
            steps.append(seen.step)
            last = seen.call
            one.path.before.set()
            if seen.step == "adapter":
                one.adapter.gate.set()
    assert steps == ["policy", "adapter", ""]
    assert last is not None
    assert last.result.receipt == "Done."


async def test_one_agent_follows_so_many_at_once(one: Replica, tmp_path: Path) -> None:
    """Another one may; and so may it when it ends one."""
    async with serving(one, tmp_path) as (asker, _):
        call_id = await _handle(one, asker)
        open_ones = [asker.WatchCall(pb.WatchCallRequest(call_id=call_id)) for _ in range(2)]
        for stream in open_ones:
            assert (await stream.read()).call.call_id == call_id
        third = asker.WatchCall(pb.WatchCallRequest(call_id=call_id))
        assert await _status(third.read()) is grpc.StatusCode.RESOURCE_EXHAUSTED
        open_ones[0].cancel()
        while one.handles.watchers > 1:
            await asyncio.sleep(0.01)
        again = asker.WatchCall(pb.WatchCallRequest(call_id=call_id))
        assert (await again.read()).call.call_id == call_id


async def test_who_follows_a_call_is_sent_away_when_the_gateway_ends(one: Replica, tmp_path: Path) -> None:
    """The call goes on; whoever comes back finds it."""
    async with serving(one, tmp_path) as (asker, _):
        call_id = await _handle(one, asker)
        stream = asker.WatchCall(pb.WatchCallRequest(call_id=call_id))
        await stream.read()
        one.handles.drain()
        assert await _status(stream.read()) is grpc.StatusCode.UNAVAILABLE
        assert one.handles.running == 1


async def test_stopping_a_call_says_what_may_have_happened(one: Replica, tmp_path: Path) -> None:
    """A write at its vendor may; a read cannot; what has ended is too late."""
    async with serving(one, tmp_path) as (asker, _):
        write, read = await _handle(one, asker), await _handle(one, asker, "echo")
        told = [await asker.CancelCall(pb.CancelCallRequest(call_id=call_id)) for call_id in (write, read)]
        one.adapter.gate.set()
        ended = await asker.CallTool(_call(after=0))
        await one.settled()
        late = await asker.CancelCall(pb.CancelCallRequest(call_id=ended.call_id))
    assert [one.cancelled for one in told] == [pb.CANCELLED_MAY_HAVE_HAPPENED, pb.CANCELLED_NOTHING_DONE]
    assert all(one.message.endswith(".") for one in told)
    assert late.cancelled == pb.CANCELLED_NOT_FOUND  # it had its answer, so that nothing was kept of it


async def test_a_call_can_be_stopped_that_its_caller_waits_for(one: Replica, tmp_path: Path) -> None:
    """By the id that went ahead of its answer; that says what came of it."""
    one.adapter.gate = asyncio.Event()
    async with serving(one, tmp_path) as (asker, _):
        calling, call_id = await asker.begun(_call(after=0))
        await one.adapter.started.wait()
        stopped = await asker.CancelCall(pb.CancelCallRequest(call_id=call_id))
        answer = await calling.read()
    assert stopped.cancelled == pb.CANCELLED_MAY_HAVE_HAPPENED
    assert answer.error.reason == codes_pb2.REASON_OUTCOME_UNKNOWN


async def test_a_connection_that_drops_lets_a_write_go_on(one: Replica, tmp_path: Path) -> None:
    """Its result waits."""
    one.adapter.gate = asyncio.Event()
    async with serving(one, tmp_path) as (asker, _):
        calling, call_id = await asker.begun(_call(after=0))
        await one.adapter.started.wait()
        calling.cancel()
        while not one.handles._here.by_id[call_id].has_caller_left:
            await asyncio.sleep(0.01)
        assert (await _got(asker, call_id)).pending.state == RUNNING
        one.adapter.gate.set()
        while not (await _got(asker, call_id)).HasField("result"):
            await asyncio.sleep(0.01)


async def test_asking_is_counted(one: Replica, tmp_path: Path) -> None:
    """Whatever is asked."""
    take, rate = FakeLimiter(one.clock.monotonic).take, Rate(per_minute=1, burst=1)
    admission = Admission(take=take, rate=rate, max_in_flight=10)
    async with serving(one, tmp_path, admission=admission) as (asker, _):
        await asker.GetCall(pb.GetCallRequest(call_id="x"))
        for asking in (
            asker.GetCall(pb.GetCallRequest(call_id="x")),
            asker.WatchCall(pb.WatchCallRequest(call_id="x")).read(),
            asker.CancelCall(pb.CancelCallRequest(call_id="x")),
            asker.ReadArtifact(pb.ReadArtifactRequest(artifact_id="x")),
        ):
            assert await _status(asking) is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_artifact_is_read_in_parts_by_its_agent(one: Replica, tmp_path: Path) -> None:
    """To others, and of none, it is an error as data, in the same bytes."""
    async with serving(one, tmp_path) as (asker, artifacts), serving(one, tmp_path, STRANGER) as (stranger, _):
        artifact_id = artifacts.keep(one.caller, b"0123456789")
        piece = await asker.ReadArtifact(pb.ReadArtifactRequest(artifact_id=artifact_id, offset=3, max_bytes=4))
        assert (piece.data, piece.total_bytes, piece.HasField("error")) == (b"3456", 10, False)
        errors = {
            (await each.ReadArtifact(pb.ReadArtifactRequest(artifact_id=asked))).SerializeToString()
            for each, asked in ((stranger, artifact_id), (stranger, "f" * 32), (asker, ""), (asker, "../x"))
        }
        assert len(errors) == 1
        told = pb.ReadArtifactResponse.FromString(errors.pop())
        assert told.error.reason == codes_pb2.REASON_ARTIFACT_NOT_FOUND


async def test_what_cannot_be_opened_now_is_a_status(one: Replica, tmp_path: Path) -> None:
    """It is no word about the call, nor about the artifact."""
    async with serving(one, tmp_path) as (asker, _):
        await one.database.close()
        one.database._begun = _down  # type: ignore[method-assign,assignment]
        for asking in (
            asker.GetCall(pb.GetCallRequest(call_id="x")),
            asker.CancelCall(pb.CancelCallRequest(call_id="x")),
            asker.WatchCall(pb.WatchCallRequest(call_id="x")).read(),
        ):
            assert await _status(asking) is grpc.StatusCode.UNAVAILABLE


async def _down(*_: object, **__: object) -> Any:
    raise ConnectionRefusedError


def test_every_end_of_stopping_reaches_the_wire() -> None:
    """By its own name."""
    assert {pb.Cancelled.Name(value) for value in STOPPED.values()} == {f"CANCELLED_{kind.name}" for kind in STOPPED}
