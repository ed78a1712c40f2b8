"""What people approved is carried out once, whatever gets in the way."""

import asyncio
from io import StringIO
from pathlib import Path as FilePath

import pytest
from fakes.approvals import Office, person
from fakes.clock import FakeClock
from fakes.executions import DOWN, LATER, FakeExecutions, Path, approved
from fakes.lines import result
from real.stores import opened, sqlite_settings

from gateway.call import Failure, Pending
from gateway.errors import Reason
from gateway.execution import Executor
from gateway.telemetry import configure


@pytest.fixture
def clock() -> FakeClock:
    """A clock that stands still."""
    return FakeClock()


def _executor(path: Path, executions: FakeExecutions, clock: FakeClock, log: StringIO | None = None) -> Executor:
    return Executor(path, executions, clock=clock, log=configure("warning", log or StringIO()))


async def _turned() -> None:
    """What is in the background has come as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_approved_call_is_carried_out_and_its_outcome_kept(clock: FakeClock) -> None:
    """In the background; one that may not run is left alone."""
    path, executions = Path(), FakeExecutions("a1")
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    executor.soon("acme", "a2")
    assert path.ran == []
    await _turned()
    assert (path.ran, executions.told) == (["a1"], [("a1", result())])


async def test_a_call_that_runs_is_not_begun_again(clock: FakeClock) -> None:
    """However often that is asked for, also by a sweep."""
    path, executions = Path(), FakeExecutions("a1")
    executions.unused = ("a1",)
    path.gate.clear()
    executor = _executor(path, executions, clock)
    for _ in range(3):
        executor.soon("acme", "a1")
        await executor.sweep(["acme"])
        await _turned()
    path.gate.set()
    await _turned()
    assert path.ran == ["a1"]


async def test_a_sweep_runs_what_nobody_has_run(clock: FakeClock) -> None:
    """In every tenant."""
    path, executions = Path(), FakeExecutions("a1")
    executions.unused = ("a1",)
    executor = _executor(path, executions, clock)
    await executor.sweep(["acme"])
    await _turned()
    assert (path.ran, executions.tidied) == (["a1"], ["acme"])


async def test_what_stopped_it_may_be_over_later(clock: FakeClock) -> None:
    """It rests for longer every time, and is tried again."""
    path, executions = Path(LATER, LATER, LATER), FakeExecutions("a1")
    executions.is_again, executions.unused = True, ("a1",)
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    await _turned()
    tries = []
    for _ in range(8):
        await executor.sweep(["acme"])
        await _turned()
        tries.append(len(path.ran))
        clock.advance(1.0)
    assert tries == [1, 2, 2, 3, 3, 3, 3, 4]


@pytest.mark.parametrize("error", [DOWN, RuntimeError("private words")])
async def test_what_goes_wrong_is_tried_again_and_logged_without_its_words(clock: FakeClock, error: Exception) -> None:
    """A journal that is down, or a fault of ours."""
    log = StringIO()
    path, executions = Path(error), FakeExecutions("a1")
    executor = _executor(path, executions, clock, log)
    executor.soon("acme", "a1")
    await _turned()
    assert executions.told == []
    executions.unused = ("a1",)
    clock.advance(1.0)
    await executor.sweep(["acme"])
    await _turned()
    assert executions.told == [("a1", result())]
    assert "approved_call" in log.getvalue()
    assert "private words" not in log.getvalue()


async def test_an_outcome_that_cannot_be_kept_is_kept_later(clock: FakeClock) -> None:
    """And the call is not carried out a second time for it."""
    path, executions = Path(), FakeExecutions("a1")
    path.gate.clear()
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    await _turned()
    executions.is_down = True
    path.gate.set()
    await _turned()
    await executor.sweep(["acme"])
    assert executions.told == []
    executions.is_down = False
    await executor.sweep(["acme"])
    await executor.sweep(["acme"])
    assert (path.ran, executions.told) == (["a1"], [("a1", result())])


async def test_a_call_that_is_parked_anew_may_be_approved_already(clock: FakeClock) -> None:
    """Then it runs at once under the new approval."""
    path, executions = Path(Pending(approval_id="a2", message="Again.")), FakeExecutions("a1", "a2")
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    await _turned()
    assert path.ran == ["a1", "a2"]


async def test_edited_arguments_are_judged_while_their_editor_waits(clock: FakeClock) -> None:
    """The answer is policy's; nothing is kept of it here."""
    denial = Failure(reason=Reason.POLICY_DENIED, message="No.")
    executions = FakeExecutions()
    answer = await _executor(Path(denial), executions, clock).judge(approved(edited=True))
    assert (answer.outcome, executions.told) == (denial, [])


async def test_what_cannot_be_told_holds_up_nothing_else(clock: FakeClock) -> None:
    """Nor is it run again meanwhile, whatever the store says of its approval."""
    path, executions = Path(), FakeExecutions("a1", "a2")
    path.gate.clear()
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    await _turned()
    executions.is_down = True
    path.gate.set()
    await _turned()
    executions.is_down, executions.refuses, executions.unused = False, "a1", ("a1", "a2")
    await executor.sweep(["acme"])
    await _turned()
    assert (path.ran, executions.told) == (["a1", "a2"], [("a2", result())])


async def test_one_that_drains_begins_nothing(clock: FakeClock) -> None:
    """Not even what waits for its turn already."""
    path, executions = Path(), FakeExecutions("a1", "a2")
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    executor.drain()
    executor.soon("acme", "a2")
    await _turned()
    assert path.ran == []


async def test_stopping_waits_for_what_runs_and_begins_no_more(clock: FakeClock) -> None:
    """What takes too long is cut off."""
    path, executions = Path(), FakeExecutions("a1", "a2", "a3")
    path.gate.clear()
    executor = _executor(path, executions, clock)
    executor.soon("acme", "a1")
    await _turned()
    stopping = asyncio.create_task(executor.stop())
    await _turned()
    assert not stopping.done()
    executor.soon("acme", "a2")
    path.gate.set()
    await stopping
    assert executions.told == [("a1", result())]
    slow = _executor(path, executions, clock)
    path.gate.clear()
    slow.soon("acme", "a3")
    await _turned()
    await slow.stop(drain_seconds=0.01)
    assert path.ran == ["a1", "a3"]
    assert len(executions.told) == 1


async def test_two_gateways_that_run_one_call_carry_it_out_once(clock: FakeClock, tmp_path: FilePath) -> None:
    """Over a real store; the outcome that is kept is that of whoever did."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        first = Office(database, clock, "w1")
        second = Office(database, clock, "w2", effects=first.effects)
        executors = [
            Executor(office.execute, office.approvals, clock=clock, log=configure("error", StringIO()))
            for office in (first, second)
        ]
        approval_ids = [await first.given() for _ in range(5)]
        for approval_id in approval_ids:
            for executor in executors:
                executor.soon("acme", approval_id)
        for executor in executors:
            await executor.stop()
        assert len(first.effects) == len(set(first.effects)) == 5
        for approval_id in approval_ids:
            assert (await first.desk.get(person(), approval_id)).state == "used"
