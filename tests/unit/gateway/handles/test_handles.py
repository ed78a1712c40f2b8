"""Calls that go on without their caller."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from fakes.approvals_rows import asked
from fakes.calls import opened_call
from fakes.clock import START, FakeClock
from fakes.handles import Heard, Replica, replica, request_of
from fakes.principals import principal
from real.stores import locked, sqlite_settings

from adapters.base import AdapterError, ErrorKind, Happened
from gateway.call import Answer, Failure, Pending, PendingState, Principal, Result
from gateway.errors import Reason, Refusal
from gateway.handles.base import Stopped
from gateway.outcomes import encode
from gateway.settings.handles import HandleSettings
from gateway.settings.store import StoreSettings
from gateway.store import calls as rows
from gateway.store.columns import moment_of
from gateway.store.writers import hold


@pytest.fixture
async def store(tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
async def hasty(tmp_path: Path) -> AsyncIterator[Replica]:
    """A gateway that does not wait long for its store."""
    async with replica(await sqlite_settings(tmp_path)) as made:
        async with made.database.tenant("acme"):
            pass
        yield made


@pytest.fixture
async def one(store: StoreSettings) -> AsyncIterator[Replica]:
    """A gateway."""
    async with replica(store) as made:
        yield made


async def _row(one: Replica, call_id: str, at: float = START) -> rows.Kept | None:
    async with one.database.tenant("acme", is_read=True) as session:
        return await rows.find(session, call_id, moment_of(at))


async def _stands(one: Replica, call_id: str, caller: Principal | None = None) -> Any:
    return (await one.handles.get(caller or one.caller, call_id)).answer.outcome


def _reason(outcome: Any) -> Reason:
    assert isinstance(outcome, Failure), outcome
    return outcome.reason


# What comes back to the caller.


async def test_a_call_that_ends_in_time_gets_its_answer_and_leaves_no_row(one: Replica) -> None:
    """Whether it may yield or not."""
    for after in (0, 5000):
        answer = await one.call(yield_after_ms=after)
        assert isinstance(answer.outcome, Result)
        assert await _row(one, answer.call_id) is None
    assert not one.handles._here.by_id


async def test_a_call_that_takes_longer_becomes_a_handle(one: Replica) -> None:
    """Its caller gets the id; it goes on and its outcome waits, sealed, for whoever asks."""
    answer = await one.yielded("note", key="k")
    assert isinstance(answer.outcome, Pending)
    assert (answer.outcome.state, answer.outcome.approval_id) == (PendingState.RUNNING, "")
    row = await _row(one, answer.call_id)
    assert row is not None
    assert (row.state, row.tool, row.agent) == (rows.RUNNING, "note", "helper")
    one.adapter.gate.set()
    await one.settled()
    row = await _row(one, answer.call_id)
    assert row is not None
    assert (row.state, row.outcome) == (rows.FINISHED, "ok")
    assert row.result is not None
    assert row.result.startswith(b"sealed:acme/call:" + answer.call_id.encode())
    outcome = await _stands(one, answer.call_id)
    assert isinstance(outcome, Result)
    assert outcome.receipt == "Done."
    assert one.adapter.invocations[0].effect_id == answer.call_id


async def test_a_handle_holds_its_own_place_until_it_ends(one: Replica) -> None:
    """Its caller's is free again. The drain waits for it."""
    await one.yielded()
    assert (one.admission.in_flight, one.handles.running) == (1, 1)
    one.adapter.gate.set()
    await one.settled()
    assert (one.admission.in_flight, one.handles.running) == (0, 0)


async def test_without_room_for_a_handle_the_call_is_waited_for(store: StoreSettings) -> None:
    """The gateway takes on no more than it has room for."""
    async with replica(store, max_in_flight=1) as one:
        one.adapter.gate = asyncio.Event()
        calling = asyncio.create_task(one.call(yield_after_ms=1))
        await one.adapter.started.wait()
        one.adapter.gate.set()
        assert isinstance((await calling).outcome, Result)
        assert one.admission.in_flight == 0


async def test_an_agent_has_so_many_handles_at_work(store: StoreSettings) -> None:
    """A further call is waited for; another agent's is not."""
    async with replica(store, settings=HandleSettings(most_running=1)) as one:
        await one.yielded()
        calling = asyncio.create_task(one.call("note", yield_after_ms=1))
        done, _ = await asyncio.wait((calling,), timeout=0.1)
        assert not done
        await one.yielded(caller=principal(agent="other"))
        one.adapter.gate.set()
        assert isinstance((await calling).outcome, Result)


async def test_no_handle_is_given_that_cannot_be_found_again(hasty: Replica) -> None:
    """While the store does not answer the call is waited for, and its answer is its answer."""
    one = hasty
    one.adapter.gate = asyncio.Event()
    with locked(one.database.settings.path):
        calling = asyncio.create_task(one.call(yield_after_ms=1))
        await one.adapter.started.wait()
        done, _ = await asyncio.wait((calling,), timeout=0.6)
        assert not done
        one.adapter.gate.set()
        assert isinstance((await calling).outcome, Result)
    assert one.admission.in_flight == 0


async def test_what_the_store_did_not_hear_is_told_later(hasty: Replica) -> None:
    """Until then this gateway remembers it."""
    one = hasty
    answer = await one.yielded()
    with locked(one.database.settings.path):
        one.adapter.gate.set()
        await one.settled()
        assert one.handles.owed == 1
        assert isinstance(await _stands(one, answer.call_id), Result)
        await one.handles.tick()
        assert one.handles.owed == 1
    await one.handles.tick()
    assert (one.handles.owed, one.handles._here.by_id) == (0, {})
    row = await _row(one, answer.call_id)
    assert row is not None
    assert row.outcome == "ok"


async def test_a_caller_that_leaves_before_it_has_a_handle_cancels_a_read(one: Replica) -> None:
    """As it would without asking for one."""
    one.adapter.gate = asyncio.Event()
    announced = Heard()
    calling = asyncio.create_task(one.call(yield_after_ms=60_000, announced=announced))
    await one.adapter.started.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert not one.handles._tasks
    assert _reason(await _stands(one, announced.call_id)) is Reason.CALL_NOT_FOUND


@pytest.mark.parametrize("after", [0, 60_000])
async def test_a_write_whose_caller_leaves_is_found_by_its_id(one: Replica, after: int) -> None:
    """It goes on, and its result waits."""
    one.adapter.gate = asyncio.Event()
    announced = Heard()
    calling = asyncio.create_task(one.call("note", yield_after_ms=after, announced=announced))
    await one.adapter.started.wait()
    calling.cancel()
    await asyncio.sleep(0)
    assert isinstance(await _stands(one, announced.call_id), Pending)
    one.adapter.gate.set()
    await asyncio.wait((calling,))
    await one.settled()
    assert isinstance(await _stands(one, announced.call_id), Result)


async def test_a_deadline_of_the_caller_is_none_of_a_handle(one: Replica) -> None:
    """Which may go on for as long as its tool may."""
    seen: list[float | None] = []
    call = one.path.call

    async def look(caller: Principal, request: Any, announcement: Any) -> Any:
        seen.append(request.timeout_seconds)
        return await call(caller, request, announcement)

    one.path.call = look  # type: ignore[method-assign]
    await one.call(yield_after_ms=5000, timeout_seconds=1.0)
    await one.call(timeout_seconds=1.0)
    assert seen == [None, 1.0]


async def test_what_is_refused_before_it_begins_is_refused(one: Replica) -> None:
    """There is no handle of what is no call."""
    one.path.refuses = Refusal(Reason.CALLER_RATE, "Too often.")
    for after in (0, 5000):
        with pytest.raises(Refusal):
            await one.call(yield_after_ms=after)
    assert not one.handles._here.by_id


async def test_a_call_that_parks_after_its_handle_was_given_waits_for_its_person(one: Replica) -> None:
    """Its row is the approval's from then on."""
    one.path.before = asyncio.Event()
    answer = await one.yielded()
    one.path.parks = Pending(approval_id="a1", message="Wait.")
    async with one.database.tenant("acme") as session:
        kept = await rows.find(session, answer.call_id, moment_of(START))
        assert kept is not None
        await rows.open_call(session, _parked(answer.call_id, one.writer))
    one.path.before.set()
    await one.settled()
    row = await _row(one, answer.call_id)
    assert row is not None
    assert row.state == rows.PARKED
    assert one.handles.owed == 0


def _parked(call_id: str, writer: str = "w1") -> rows.Opened:
    return opened_call(call_id, state=rows.PARKED, arguments=b"sealed", writer=writer)


async def test_how_long_an_outcome_is_kept_depends_on_what_it_was(one: Replica) -> None:
    """A read an hour, an effect a day."""
    read, write = await one.yielded(), await one.yielded("note")
    one.adapter.gate.set()
    await one.settled()
    one.clock.advance(3600)
    assert _reason(await _stands(one, read.call_id)) is Reason.CALL_NOT_FOUND
    assert isinstance(await _stands(one, write.call_id), Result)
    one.clock.advance(23 * 3600)
    assert _reason(await _stands(one, write.call_id)) is Reason.CALL_NOT_FOUND
    await one.handles.tick()
    async with one.database.tenant("acme", is_read=True) as session:
        assert await rows.find(session, write.call_id, moment_of(START)) is None


# Stopping.


async def test_a_call_that_is_stopped_before_the_vendor_is_asked_did_nothing(one: Replica) -> None:
    """For certain; whoever waits for it is told so."""
    one.path.before = asyncio.Event()
    announced = Heard()
    calling = asyncio.create_task(one.call("note", announced=announced))
    await one.path.arrived.wait()
    stop = await one.handles.cancel(one.caller, announced.call_id)
    assert stop.kind is Stopped.NOTHING_DONE
    assert _reason((await calling).outcome) is Reason.CANCELLED
    assert not one.adapter.invocations


async def test_a_write_that_is_stopped_at_the_vendor_may_have_happened(one: Replica) -> None:
    """And says so ever after."""
    answer = await one.yielded("note", key="k")
    stop = await one.handles.cancel(one.caller, answer.call_id)
    assert stop.kind is Stopped.MAY_HAVE_HAPPENED
    await one.settled()
    assert _reason(await _stands(one, answer.call_id)) is Reason.OUTCOME_UNKNOWN
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is Stopped.MAY_HAVE_HAPPENED


async def test_a_write_of_which_the_adapter_is_certain_did_nothing(one: Replica) -> None:
    """Nobody knows better."""

    class _Certain(asyncio.Event):
        async def wait(self) -> Any:
            try:
                await super().wait()
            except asyncio.CancelledError:
                raise AdapterError(ErrorKind.UNAVAILABLE, "Not sent.", happened=Happened.NO) from None

    one.adapter.gate = _Certain()
    answer = await one.yielded("note")
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is Stopped.NOTHING_DONE
    await one.settled()
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is Stopped.NOTHING_DONE


async def test_a_read_that_is_stopped_did_nothing(one: Replica) -> None:
    """Its handle says that it was cancelled."""
    answer = await one.yielded()
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is Stopped.NOTHING_DONE
    await one.settled()
    assert _reason(await _stands(one, answer.call_id)) is Reason.CANCELLED


async def test_what_has_ended_is_too_late_to_stop(one: Replica) -> None:
    """Ask how it stands."""
    answer = await one.yielded()
    one.adapter.gate.set()
    await one.settled()
    assert (await one.handles.cancel(one.caller, answer.call_id)).kind is Stopped.TOO_LATE


async def test_a_parked_call_is_withdrawn(one: Replica) -> None:
    """Nothing was done, and nobody needs to approve it any more."""
    await _park(one, "p1", "a1")
    assert (await one.handles.cancel(one.caller, "p1")).kind is Stopped.NOTHING_DONE
    assert one.parked.withdrawn == ["a1"]
    withdrawn = await one.seal.seal("acme", "call:p1", encode(one.parked.states["a1"]))
    async with one.database.tenant("acme") as session:
        until = moment_of(START + 60)
        await rows.finish(
            session, "p1", outcome="precondition_failed", result=withdrawn, now=moment_of(START), until=until
        )
    assert (await one.handles.cancel(one.caller, "p1")).kind is Stopped.NOTHING_DONE


async def test_a_parked_call_that_is_just_being_approved_may_happen(one: Replica) -> None:
    """It could not be withdrawn any more."""
    await _park(one, "p1", "a1")
    one.parked.is_late = True
    assert (await one.handles.cancel(one.caller, "p1")).kind is Stopped.MAY_HAVE_HAPPENED


async def _park(one: Replica, call_id: str, approval_id: str) -> None:
    async with one.database.tenant("acme") as session:
        await hold(session, one.writer, now=moment_of(START), until=moment_of(START + 30))
        await rows.open_call(session, _parked(call_id, one.writer))
        await asked(session, approval_id, call_id)


async def test_a_call_at_another_gateway_is_stopped_there(store: StoreSettings) -> None:
    """Which looks for such wishes each second; what came of it is in its row."""
    clock = FakeClock(sleeps_pass=True)
    async with replica(store, clock) as there, replica(store, clock, writer="w2") as here:
        answer = await there.yielded()

        async def sleep(_: float) -> None:
            await there.handles.tick()
            await there.settled()

        clock.sleep = sleep  # type: ignore[method-assign]
        assert isinstance(await _stands(here, answer.call_id), Pending)
        assert (await here.handles.cancel(here.caller, answer.call_id)).kind is Stopped.NOTHING_DONE
        assert _reason(await _stands(here, answer.call_id)) is Reason.CANCELLED


async def test_a_gateway_that_does_not_answer_leaves_it_open(store: StoreSettings) -> None:
    """After two seconds the honest word is that it may have happened."""
    clock = FakeClock(sleeps_pass=True)
    async with replica(store, clock) as there, replica(store, clock, writer="w2") as here:
        answer = await there.yielded()
        stop = await here.handles.cancel(here.caller, answer.call_id)
        assert stop.kind is Stopped.MAY_HAVE_HAPPENED
        assert sum(clock.slept) == pytest.approx(2.0)


async def test_calls_of_a_gateway_that_is_gone_are_unknown_in_the_end(store: StoreSettings) -> None:
    """A minute after its last word, to whoever asks elsewhere. Should it come back, what happened is told."""
    clock = FakeClock()
    async with replica(store, clock) as gone, replica(store, clock, writer="w2") as other:
        answer = await gone.yielded("note")
        assert isinstance(await _stands(other, answer.call_id), Pending)
        clock.advance(59)
        await other.handles.tick()
        assert isinstance(await _stands(other, answer.call_id), Pending)
        clock.advance(12)
        await other.handles.tick()
        assert _reason(await _stands(other, answer.call_id)) is Reason.OUTCOME_UNKNOWN
        gone.adapter.gate.set()
        await gone.settled()
        assert isinstance(await _stands(other, answer.call_id), Result)


async def test_a_gateway_that_is_at_work_keeps_its_calls(store: StoreSettings) -> None:
    """Its lease is renewed for as long as one runs."""
    clock = FakeClock()
    async with replica(store, clock) as one, replica(store, clock, writer="w2") as other:
        answer = await one.yielded("note")
        for _ in range(20):
            clock.advance(10)
            await one.handles.tick()
            await other.handles.tick()
        assert isinstance(await _stands(other, answer.call_id), Pending)


# The rest.


async def test_a_call_that_comes_by_no_surface_can_be_stopped_as_well(one: Replica) -> None:
    """As the execution of what was approved does: whoever carries it out gets an answer."""
    one.adapter.gate = asyncio.Event()
    executing = asyncio.create_task(_attended(one))
    await one.adapter.started.wait()
    (call_id,) = one.handles._here.by_id
    assert isinstance(await _stands(one, call_id), Pending)
    assert one.handles.running == 1
    assert (await one.handles.cancel(one.caller, call_id)).kind is Stopped.MAY_HAVE_HAPPENED
    assert _reason((await executing).outcome) is Reason.OUTCOME_UNKNOWN
    assert (one.handles._here.by_id, one.handles.running) == ({}, 0)


async def test_an_approved_call_that_is_stopped_in_time_does_not_run_later(one: Replica) -> None:
    """Nothing was done, and its approval is withdrawn: nobody carries it out again."""
    one.path.before = asyncio.Event()
    executing = asyncio.create_task(_attended(one))
    await one.path.arrived.wait()
    (call_id,) = one.handles._here.by_id
    await _park(one, call_id, "a1")
    assert (await one.handles.cancel(one.caller, call_id)).kind is Stopped.NOTHING_DONE
    assert _reason((await executing).outcome) is Reason.CANCELLED
    assert (one.parked.withdrawn, one.adapter.invocations) == (["a1"], [])


async def _attended(one: Replica) -> Answer:
    request = request_of("note")
    return await one.handles.attend(
        one.caller, request, Heard(), lambda running: one.path.call(one.caller, request, running)
    )


async def test_explaining_goes_its_way(one: Replica) -> None:
    """There is nothing to keep of it."""
    explanation = await one.handles.explain(one.caller, request_of("echo"), Heard())
    assert explanation.call_id == "explained"


async def test_the_end_waits_for_what_is_at_work(one: Replica) -> None:
    """For so long; its outcome is kept."""
    answer = await one.yielded()
    await one.handles.stop(seconds=0.01)
    assert one.handles.running == 1
    one.adapter.gate.set()
    await one.handles.stop(seconds=5)
    row = await _row(one, answer.call_id)
    assert row is not None
    assert row.outcome == "ok"


async def test_another_agent_sees_and_stops_nothing(one: Replica) -> None:
    """Not while it runs, and not after."""
    answer = await one.yielded()
    other = principal(agent="other", id="other-1")
    colleague = principal(id="helper-2")
    for _ in range(2):
        assert _reason(await _stands(one, answer.call_id, other)) is Reason.CALL_NOT_FOUND
        assert (await one.handles.cancel(other, answer.call_id)).kind is Stopped.NOT_FOUND
        assert not isinstance(await _stands(one, answer.call_id, colleague), Failure)
        one.adapter.gate.set()
        await one.settled()
