"""Stopping a call, and saying honestly whether its effect may have happened."""

from adapters.base import Clock
from gateway.call import Failure, Outcome, Pending, PendingState, Principal, Result
from gateway.errors import Reason
from gateway.handles.asking import Asking
from gateway.handles.base import Parked, Seen, Stop, Stopped
from gateway.handles.kept import KeptCalls
from gateway.handles.running import Here, Running
from gateway.store import calls as rows

WAIT_SECONDS = 2.0
"""How long an answer waits for what comes of it."""
_AGAIN_SECONDS = 0.2

_STOPPED_IN_TIME = (Reason.CANCELLED, Reason.APPROVAL_WITHDRAWN)
_SENTENCES = {
    Stopped.NOTHING_DONE: "The call was stopped, and nothing was done.",
    Stopped.MAY_HAVE_HAPPENED: "The call is stopped or will be soon; its effect may have happened. Ask how it stands, "
    "and do not repeat it under another key.",
    Stopped.TOO_LATE: "The call had ended before. Ask how it stands.",
    Stopped.NOT_FOUND: "There is no such call, or it is not yours, or it was too long ago. Check the id.",
}


class Stopping:
    """Stops calls, wherever they are. May raise `Refusal`: `store_unavailable`, or what the approvals raise."""

    def __init__(self, here: Here, kept: KeptCalls, asking: Asking, parked: Parked, clock: Clock) -> None:
        self._here = here
        self._kept = kept
        self._asking = asking
        self._parked = parked
        self._clock = clock

    async def cancel(self, principal: Principal, call_id: str) -> Stop:
        """What came of it, after two seconds at most."""
        running = self._here.of(principal, call_id)
        if running is not None:
            return await self._here_stopped(principal, running)
        kept = await self._asking.row(principal, call_id)
        if kept is None:
            return _stop(Stopped.NOT_FOUND)
        if kept.state == rows.PARKED:
            return await self._withdrawn(principal, kept.approval_id or "", call_id)
        if kept.state != rows.RUNNING:
            return await self._told(principal, kept)
        return await self._stopped_there(principal, kept)

    async def _here_stopped(self, principal: Principal, running: Running) -> Stop:
        if running.answer is None:
            running.ask()
            await running.changed(WAIT_SECONDS)
        if running.answer is None:
            return _stop(Stopped.MAY_HAVE_HAPPENED if running.has_effect else Stopped.NOTHING_DONE)
        outcome = running.answer.outcome
        if isinstance(outcome, Pending):
            return await self._withdrawn(principal, outcome.approval_id, running.call_id)
        if isinstance(outcome, Failure) and outcome.reason is Reason.CANCELLED:
            return await self._certain(principal, running.call_id)
        return _stop(_kind(outcome))

    async def _certain(self, principal: Principal, call_id: str) -> Stop:
        """It was cancelled; should it just have been parked, people must not go on to approve it."""
        kept = await self._asking.row(principal, call_id)
        if kept is not None and kept.state == rows.PARKED:
            return await self._withdrawn(principal, kept.approval_id or "", call_id)
        return _stop(Stopped.NOTHING_DONE)

    async def _withdrawn(self, principal: Principal, approval_id: str, call_id: str) -> Stop:
        """Nobody needs to approve it any more, unless it was just approved and is at work by now."""
        if approval_id and await self._parked.withdraw(principal.tenant, approval_id):
            return _stop(Stopped.NOTHING_DONE)
        kept = await self._asking.row(principal, call_id)
        if kept is None or kept.state == rows.PARKED:
            return _stop(Stopped.MAY_HAVE_HAPPENED)
        if kept.state == rows.RUNNING:
            return await self._stopped_there(principal, kept)
        return await self._told(principal, kept)

    async def _stopped_there(self, principal: Principal, kept: rows.Kept) -> Stop:
        """Whoever carries it out is told by the row, and looks at it each second."""
        await self._kept.ask_cancel(principal.tenant, kept.call_id)
        until = self._clock.monotonic() + WAIT_SECONDS
        while self._clock.monotonic() < until:
            await self._clock.sleep(_AGAIN_SECONDS)
            now = await self._asking.row(principal, kept.call_id)
            if now is None or now.state == rows.PARKED:
                break
            if now.state != rows.RUNNING:
                return await self._told(principal, now)
        return _stop(Stopped.MAY_HAVE_HAPPENED)

    async def _told(self, principal: Principal, kept: rows.Kept) -> Stop:
        return _stop(_kind(Seen(answer=await self._asking.of_row(principal, kept)).answer.outcome))


def _stop(kind: Stopped) -> Stop:
    return Stop(kind=kind, message=_SENTENCES[kind])


def _kind(outcome: Outcome) -> Stopped:
    """What an end says of the effect."""
    if isinstance(outcome, Result):
        return Stopped.TOO_LATE
    if isinstance(outcome, Failure) and outcome.reason in _STOPPED_IN_TIME:
        return Stopped.NOTHING_DONE
    if isinstance(outcome, Failure) and outcome.reason is not Reason.OUTCOME_UNKNOWN:
        return Stopped.TOO_LATE
    is_parked = isinstance(outcome, Pending) and outcome.state is PendingState.APPROVAL
    return Stopped.TOO_LATE if is_parked else Stopped.MAY_HAVE_HAPPENED
