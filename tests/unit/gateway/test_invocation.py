"""Step 12: whatever an adapter does, one `Attempt` comes of it."""

import asyncio

import pytest

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Operation, Output, SideEffect, Target
from gateway.errors import CODE_OF, Code, Reason
from gateway.interrupt import Interrupt
from gateway.invocation import REASON_OF, invoke, is_cancelled, outlive


def operation(run):
    return Operation(
        name="run", arguments=dict, side_effect=SideEffect.SEND, prepare=lambda arguments: arguments, invoke=run
    )


INVOCATION = Invocation(arguments={}, target=Target(name="t"), credential=None, deadline=0, effect_id="e")


async def attempt(run, *, has_effect, seconds=5.0):
    return await invoke(operation(run), INVOCATION, seconds=seconds, has_effect=has_effect)


def raising(error):
    async def run(_):
        raise error

    return run


async def test_an_output_is_a_done_attempt():
    """The output and its number of attempts come back."""

    async def run(_):
        return Output(receipt="done", attempts=3)

    done = await attempt(run, has_effect=True)
    assert (done.happened, done.output.receipt, done.attempts) == (Happened.YES, "done", 3)


def test_every_kind_of_adapter_error_has_a_reason():
    """The table is total, so that no kind falls through."""
    assert set(REASON_OF) == set(ErrorKind)
    assert set(REASON_OF.values()) <= set(CODE_OF)


@pytest.mark.parametrize("kind", ErrorKind)
async def test_an_adapter_error_becomes_its_reason(kind):
    """The reason of the table, our sentence, the vendor's wait, the fault."""
    error = AdapterError(
        kind, "Our words.", happened=Happened.NO, fault=Fault.RESET, retry_after_seconds=1.5, attempts=2
    )
    failed = await attempt(raising(error), has_effect=True)
    assert failed.refusal.reason is REASON_OF[kind]
    assert failed.refusal.message == "Our words."
    assert failed.refusal.retry_after_ms == 1500
    assert failed.refusal.fault is Fault.RESET
    assert (failed.happened, failed.attempts) == (Happened.NO, 2)


@pytest.mark.parametrize("kind", ErrorKind)
async def test_an_effect_that_may_have_happened_is_unknown_whatever_the_kind(kind):
    """Only the adapter's own certainty makes an effect repeatable."""
    failed = await attempt(raising(AdapterError(kind, "x", happened=Happened.UNKNOWN)), has_effect=True)
    assert failed.refusal.code is Code.OUTCOME_UNKNOWN
    assert failed.happened is Happened.UNKNOWN


class Panic(BaseException):
    """As a Rust extension raises it: no Exception."""


@pytest.mark.parametrize(
    "error",
    [KeyError("secret"), RuntimeError("secret"), Panic("secret"), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("has_effect", [True, False])
async def test_what_an_adapter_must_not_raise_says_nothing_and_fails_closed(error, has_effect):
    """A write is unknown, a read failed; the exception's text is in neither."""
    failed = await attempt(raising(error), has_effect=has_effect)
    expected = Reason.OUTCOME_UNKNOWN if has_effect else Reason.ADAPTER_FAILED
    assert failed.refusal.reason is expected
    assert "secret" not in failed.refusal.message
    assert failed.happened is (Happened.UNKNOWN if has_effect else Happened.NO)


@pytest.mark.parametrize("value", [None, {}, "done", Output])
async def test_what_is_no_output_is_not_taken_for_one(value):
    """An adapter that returns something else failed, and a write of it is unknown."""

    async def run(_):
        return value

    assert (await attempt(run, has_effect=True)).happened is Happened.UNKNOWN
    assert (await attempt(run, has_effect=False)).refusal.reason is Reason.ADAPTER_FAILED


@pytest.mark.parametrize(("has_effect", "reason"), [(True, Reason.OUTCOME_UNKNOWN), (False, Reason.DEADLINE)])
async def test_an_adapter_that_ignores_its_deadline_is_stopped(has_effect, reason):
    """The attempt ends soon after the deadline, with the fault that says why."""

    async def run(_):
        await asyncio.Event().wait()

    failed = await asyncio.wait_for(attempt(run, has_effect=has_effect, seconds=0.01), 3)
    assert failed.refusal.reason is reason
    assert failed.refusal.fault is Fault.TIMEOUT


async def test_a_read_is_cancelled_with_its_caller():
    """Nobody waits, so nobody works."""
    started, ended = asyncio.Event(), asyncio.Event()

    async def run(_):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(attempt(run, has_effect=False))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_a_write_outlives_its_caller():
    """The vendor's answer still arrives and is the attempt, though the caller was cancelled twice."""
    started, go = asyncio.Event(), asyncio.Event()

    async def run(_):
        started.set()
        await go.wait()
        return Output(receipt="done")

    task = asyncio.create_task(attempt(run, has_effect=True))
    await started.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    assert (await task).output.receipt == "done"


async def test_outlive_gives_the_works_own_failure():
    """An exception of the work is raised as it is."""

    async def work():
        raise KeyError("k")

    with pytest.raises(KeyError):
        await outlive(work)


async def test_a_task_that_nobody_cancelled_is_not_cancelled():
    """A CancelledError from inside is told apart from one from outside."""
    assert not is_cancelled()


async def test_an_adapter_that_swallows_its_alarm_leaves_no_mark():
    """It answers after its deadline was over: the output counts, and the call's task is not taken for cancelled."""

    async def run(_):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Output(receipt="late")

    late = await asyncio.wait_for(attempt(run, has_effect=False, seconds=-0.2), 3)
    assert late.output.receipt == "late"
    assert not is_cancelled()


async def test_outlive_takes_back_every_cancellation():
    """Two in one turn of the loop arrive as one: the task that lived on counts none of them."""
    go = asyncio.Event()

    async def living():
        await outlive(go.wait)
        return is_cancelled()

    task = asyncio.create_task(living())
    await asyncio.sleep(0)
    task.cancel()
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    assert await task is False


@pytest.mark.parametrize("has_effect", [True, False])
async def test_an_adapter_that_swallows_its_cancellation_is_cancelled_again(has_effect):
    """A call cannot be kept for ever by an adapter that will not stop at the first time."""
    swallowed = []

    async def run(_):
        while len(swallowed) < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed.append(1)
        await asyncio.Event().wait()

    failed = await asyncio.wait_for(attempt(run, has_effect=has_effect, seconds=0.01), 10)
    assert len(swallowed) == 2
    assert failed.refusal.fault is Fault.TIMEOUT
    assert asyncio.current_task().cancelling() == 0


@pytest.mark.parametrize("wait", [1e30, float("inf"), float("nan"), -5.0])
async def test_a_wait_that_no_clock_can_hold_is_clamped(wait):
    """The agent is told a number of milliseconds that fits, whatever an adapter passes on."""
    error = AdapterError(ErrorKind.RATE_LIMITED, "x", happened=Happened.NO, retry_after_seconds=wait)
    failed = await attempt(raising(error), has_effect=False)
    assert failed.refusal.retry_after_ms == 86_400_000


class Interrupted:
    """A call that waits for an adapter, and what stops it."""

    def __init__(self, run, *, has_effect=True):
        self.interrupt = Interrupt()
        self.has_effect = has_effect
        self.started = asyncio.Event()
        self.run = run
        self.task = asyncio.create_task(self._call())

    async def _call(self):
        self.interrupt.begins()

        async def run(invocation):
            self.started.set()
            return await self.run(invocation)

        return await invoke(operation(run), INVOCATION, seconds=5, has_effect=self.has_effect, interrupt=self.interrupt)


async def _forever(_):
    await asyncio.Event().wait()


async def test_a_write_that_is_interrupted_may_have_happened():
    """The adapter is stopped, and nobody knows how far it had come."""
    one = Interrupted(_forever)
    await one.started.wait()
    assert one.interrupt.ask()
    stopped = await asyncio.wait_for(one.task, 3)
    assert (stopped.happened, stopped.refusal.reason) == (Happened.UNKNOWN, Reason.OUTCOME_UNKNOWN)
    assert "stopped as asked" in stopped.refusal.message


async def test_an_adapter_that_is_certain_says_so_when_it_is_interrupted():
    """Then nothing was done."""

    async def run(_):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise AdapterError(ErrorKind.UNAVAILABLE, "Not sent yet.", happened=Happened.NO) from None

    one = Interrupted(run)
    await one.started.wait()
    one.interrupt.ask()
    stopped = await one.task
    assert (stopped.happened, stopped.refusal.reason) == (Happened.NO, Reason.CANCELLED)


async def test_a_write_that_ends_in_spite_of_an_interrupt_is_done():
    """The vendor's answer is the truth."""

    async def run(_):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Output(receipt="done")

    one = Interrupted(run)
    await one.started.wait()
    one.interrupt.ask()
    assert (await one.task).happened is Happened.YES


async def test_a_read_that_is_interrupted_is_cancelled():
    """As if its caller had left."""
    one = Interrupted(_forever, has_effect=False)
    await one.started.wait()
    one.interrupt.ask()
    await asyncio.wait((one.task,))
    assert one.task.cancelled()


async def test_what_is_asked_to_stop_before_the_vendor_is_asked_sends_nothing():
    """Also when something on the way there took the cancellation back."""
    interrupt = Interrupt()
    interrupt.begins()
    assert interrupt.ask()
    assert asyncio.current_task().uncancel() == 0
    stopped = await invoke(operation(_forever), INVOCATION, seconds=5, has_effect=True, interrupt=interrupt)
    assert (stopped.happened, stopped.refusal.reason) == (Happened.NO, Reason.CANCELLED)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)


async def test_a_caller_that_leaves_does_not_interrupt_a_write():
    """It goes on, and is known to be one that nobody waits for."""
    gate = asyncio.Event()

    async def run(_):
        await gate.wait()
        return Output(receipt="done")

    one = Interrupted(run)
    await one.started.wait()
    one.task.cancel()
    await asyncio.sleep(0)
    gate.set()
    assert (await one.task).happened is Happened.YES
    assert one.interrupt.has_caller_left
    assert not one.interrupt.ask()
