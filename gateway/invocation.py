"""Step 12: the adapter runs, within its deadline, and whatever comes of it becomes one `Attempt`.

A read is cancelled with its caller. A write or send is not: once its intent is durable it runs to
its own deadline even when nobody waits for the answer any more, unless somebody asks for it to be stopped.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Operation, Output
from gateway.errors import Reason, Refusal
from gateway.interrupt import Interrupt

T = TypeVar("T")

REASON_OF: dict[ErrorKind, Reason] = {
    ErrorKind.INVALID: Reason.VENDOR_REFUSED,
    ErrorKind.NOT_FOUND: Reason.VENDOR_NOT_FOUND,
    ErrorKind.CONFLICT: Reason.VENDOR_CONFLICT,
    ErrorKind.FORBIDDEN: Reason.VENDOR_FORBIDDEN,
    ErrorKind.NEEDS_AUTHORISATION: Reason.CONNECTION_NEEDS_AUTHORISATION,
    ErrorKind.RATE_LIMITED: Reason.VENDOR_RATE,
    ErrorKind.UNAVAILABLE: Reason.VENDOR_UNAVAILABLE,
    ErrorKind.MALFORMED: Reason.VENDOR_MALFORMED,
    ErrorKind.TOO_LARGE: Reason.VENDOR_TOO_LARGE,
    ErrorKind.ADDRESS_REFUSED: Reason.ADDRESS_REFUSED,
    ErrorKind.CIRCUIT_OPEN: Reason.CIRCUIT_OPEN,
    ErrorKind.CHANGED: Reason.UPSTREAM_CHANGED,
    ErrorKind.DEADLINE: Reason.DEADLINE,
}
"""The one table from what an adapter raises to what a caller is told."""

_LATE = "The time for this call ran out before the vendor answered."
_BROKEN = "The tool failed in a way that it should not. The operator can find the call by its id."
_UNKNOWN = (
    "It is not known whether this happened: the vendor was asked and gave no usable answer. "
    "Do not repeat it under another key; asking again with the same key is safe."
)
_STOPPED = "The call was stopped as asked, and nothing was done."
_STOPPED_LATE = (
    "The call was stopped as asked, when the vendor had been asked already: it is not known whether this happened. "
    "Do not repeat it under another key; asking again with the same key is safe."
)
LONGEST_WAIT_SECONDS = 86_400.0
_AGAIN_SECONDS = 1.0
_SLACK_SECONDS = 0.25
"""How much longer than its deadline an adapter may take to give up by itself before it is cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of asking a vendor: an output, or the refusal that the caller gets."""

    happened: Happened
    output: Output | None = None
    refusal: Refusal | None = None
    attempts: int = 1


async def invoke(
    operation: Operation,
    invocation: Invocation,
    *,
    seconds: float,
    has_effect: bool,
    interrupt: Interrupt | None = None,
) -> Attempt:
    """Run the operation for at most so many seconds.

    Raises nothing but `CancelledError`, and that only for a read whose caller left or that is interrupted.
    """
    if interrupt is None:
        return await _attempt(operation, invocation, seconds, None, has_effect=has_effect)
    if interrupt.is_asked:  # what took the cancellation back went on to here
        return Attempt(happened=Happened.NO, refusal=Refusal(Reason.CANCELLED, _STOPPED))
    attempt = await _attempt(operation, invocation, seconds, interrupt, has_effect=has_effect)
    return _interrupted(attempt) if interrupt.is_asked else attempt


async def _attempt(
    operation: Operation, invocation: Invocation, seconds: float, interrupt: Interrupt | None, *, has_effect: bool
) -> Attempt:
    try:
        output = await _asked(operation, invocation, seconds, interrupt, has_effect=has_effect)
    except AdapterError as error:
        return _failed(error, has_effect=has_effect)
    except TimeoutError:
        return _stopped(Reason.DEADLINE, _LATE, Fault.TIMEOUT, has_effect=has_effect)
    except asyncio.CancelledError:
        if is_cancelled():
            raise
        return _stopped(Reason.ADAPTER_FAILED, _BROKEN, Fault.ERROR, has_effect=has_effect)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - an adapter must raise AdapterError alone; a Rust panic is no Exception
        return _stopped(Reason.ADAPTER_FAILED, _BROKEN, Fault.ERROR, has_effect=has_effect)
    if not isinstance(output, Output):
        return _stopped(Reason.ADAPTER_FAILED, _BROKEN, Fault.MALFORMED, has_effect=has_effect)
    return Attempt(happened=Happened.YES, output=output, attempts=output.attempts)


def _interrupted(attempt: Attempt) -> Attempt:
    """What was stopped on purpose is told as that; what happened all the same is told as it is."""
    if attempt.refusal is None or attempt.happened is Happened.YES:
        return attempt
    reason, message = (
        (Reason.CANCELLED, _STOPPED) if attempt.happened is Happened.NO else (Reason.OUTCOME_UNKNOWN, _STOPPED_LATE)
    )
    return replace(attempt, refusal=Refusal(reason, message))


async def _asked(
    operation: Operation, invocation: Invocation, seconds: float, interrupt: Interrupt | None, *, has_effect: bool
) -> Output:
    if has_effect:
        return await outlive(lambda: _within(operation, invocation, seconds), interrupt)
    return await _within(operation, invocation, seconds)


async def _within(operation: Operation, invocation: Invocation, seconds: float) -> Output:
    """`asyncio.timeout` in the least that is needed of it: it is paid for by every call."""
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    alarm = _Alarm(task, seconds + _SLACK_SECONDS)
    try:
        return await operation.invoke(invocation)
    except asyncio.CancelledError:
        if alarm.rings and task.cancelling() <= before + alarm.rings:
            raise TimeoutError from None
        raise
    finally:
        alarm.stop()


class _Alarm:
    """Cancels a task when its time is up, and every second again until it gives in: an adapter may swallow
    a cancellation.
    """

    __slots__ = ("_handle", "_loop", "_task", "rings")

    def __init__(self, task: asyncio.Task[Any], seconds: float) -> None:
        self._task = task
        self._loop = asyncio.get_running_loop()
        self.rings = 0
        self._handle = self._loop.call_later(seconds, self._ring)

    def stop(self) -> None:
        """No more; what was ours of the task's cancellations is taken back."""
        self._handle.cancel()
        for _ in range(self.rings):
            self._task.uncancel()

    def _ring(self) -> None:
        self.rings += 1
        self._task.cancel()
        self._handle = self._loop.call_later(_AGAIN_SECONDS, self._ring)


def _failed(error: AdapterError, *, has_effect: bool) -> Attempt:
    """The adapter says what happened. Only its own certainty makes an effect repeatable."""
    if has_effect and error.happened is Happened.UNKNOWN:
        refusal = Refusal(Reason.OUTCOME_UNKNOWN, _UNKNOWN, fault=error.fault)
    else:
        wait_ms = round(_sane(error.retry_after_seconds or 0.0) * 1000)
        refusal = Refusal(REASON_OF[error.kind], error.message, retry_after_ms=wait_ms, fault=error.fault)
    return Attempt(happened=error.happened, refusal=refusal, attempts=error.attempts)


def _sane(seconds: float) -> float:
    """A wait that a clock can hold, whatever an adapter passes on; false for not-a-number too."""
    return seconds if 0 <= seconds <= LONGEST_WAIT_SECONDS else LONGEST_WAIT_SECONDS


def _stopped(reason: Reason, message: str, fault: Fault, *, has_effect: bool) -> Attempt:
    """The adapter said nothing usable. What it may have sent, nobody knows."""
    if has_effect:
        return Attempt(happened=Happened.UNKNOWN, refusal=Refusal(Reason.OUTCOME_UNKNOWN, _UNKNOWN, fault=fault))
    return Attempt(happened=Happened.NO, refusal=Refusal(reason, message, fault=fault))


async def outlive(work: Callable[[], Awaitable[T]], interrupt: Interrupt | None = None) -> T:
    """The result of the work, though the caller be cancelled meanwhile: the work goes on to its end, or until it is
    interrupted.

    The cancellation is taken back, since whoever awaits this has to finish what it began; the answer is
    then sent to nobody, and its line is written all the same.
    """
    task = asyncio.ensure_future(work())
    if interrupt is None:
        return await _outlived(task, None)
    with interrupt.at(task):
        return await _outlived(task, interrupt)


async def _outlived(task: "asyncio.Task[T]", interrupt: Interrupt | None) -> T:
    current = asyncio.current_task()
    assert current is not None
    before = current.cancelling()
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if interrupt is not None and current.cancelling() > before:
                interrupt.has_caller_left = True
            while current.cancelling() > before:  # two cancellations in one turn of the loop arrive as one
                current.uncancel()
            if task.cancelled():
                raise
        except BaseException:  # noqa: BLE001 - the task's own failure, raised below by its result
            break
    return task.result()


def is_cancelled() -> bool:
    """Whether somebody cancelled this very task. A CancelledError without that came from inside."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
