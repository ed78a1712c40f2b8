"""The calls that are at work in this process."""

import asyncio
from collections.abc import Callable

from adapters.base import Happened
from gateway.call import Answer, Failure, Pending, PendingState, Principal, Request
from gateway.errors import Reason
from gateway.handles.base import Course, Seen
from gateway.interrupt import Interrupt
from gateway.parts import Announcement

RUNNING = "The call is being carried out. Ask for it by its id, or watch it."
_CUT_OFF = "The call was stopped, and nothing was done."
_MAY_HAVE = "The call was stopped while this was being done; it is not known whether it happened."


class Here:
    """Every call that is at work here, by its id."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.monotonic = monotonic
        self.by_id: dict[str, Running] = {}

    def of(self, principal: Principal, call_id: str) -> "Running | None":
        """The call, when it is of the same agent of the same tenant."""
        running = self.by_id.get(call_id)
        if running is None or not is_same_agent(running.principal, principal):
            return None
        return running


def is_same_agent(one: Principal, other: Principal) -> bool:
    """Whether they are one agent of one tenant: who else there is behind it may differ."""
    return (one.tenant, one.agent) == (other.tenant, other.agent)


class Running(Interrupt):
    """One call at work: an `Announcement` on its way down, what stops it, and how it stands."""

    call_id = ""
    """Empty until it has begun."""
    started = 0.0
    course: Course | None = None
    answer: Answer | None = None
    """How it ended."""
    is_kept = False
    """Whether it has a row, so that it is found after it has ended."""
    _over: "asyncio.Future[None] | None" = None

    def __init__(self, here: Here, principal: Principal, request: Request, announcement: Announcement) -> None:
        self._here = here
        self._announcement = announcement
        self.principal = principal
        self.request = request

    def begin(self, call_id: str) -> None:
        """It can be asked for from here on."""
        self.call_id = call_id
        self.started = self._here.monotonic()
        self.begins()
        self._here.by_id[call_id] = self
        self._announcement.begin(call_id)

    def follow(self, course: Course) -> Interrupt:
        """How far it has come can be told from here on. What comes back stops it."""
        self.course = course
        return self

    def end(self) -> None:
        """It cannot be stopped any more."""
        self.ends()
        self._announcement.end()

    def over(self, answer: Answer) -> None:
        """It has ended so."""
        self.answer = answer
        self._wake()

    def forget(self) -> None:
        """It cannot be asked for here any more."""
        self._here.by_id.pop(self.call_id, None)
        self._wake()

    def _wake(self) -> None:
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    async def changed(self, seconds: float) -> None:
        """Returns when it has ended or is not known here any more, and after so many seconds in any case."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
            if self.answer is not None:
                self._wake()
        await asyncio.wait((self._over,), timeout=seconds)

    @property
    def effect_id(self) -> str:
        """What all calls of its key share."""
        return self.course.effect_id if self.course is not None else self.call_id

    @property
    def has_effect(self) -> bool:
        """Whether it may change something outside. True when nobody can tell."""
        tool = self.course.tool if self.course is not None else None
        return tool is None or tool.has_effect

    def cut_off(self) -> Answer:
        """How a call ended that was cancelled: for certain before its intent alone."""
        is_certain = self.course is not None and self.course.happened in (None, Happened.NO)
        reason, message = (Reason.CANCELLED, _CUT_OFF) if is_certain else (Reason.OUTCOME_UNKNOWN, _MAY_HAVE)
        failure = Failure(reason=reason, message=message)
        return Answer(call_id=self.call_id, effect_id=self.effect_id, outcome=failure)

    def pending(self) -> Answer:
        """What its caller gets instead of an answer."""
        return pending(self.call_id, self.effect_id)

    def seen(self) -> Seen:
        """How it stands."""
        elapsed_ms = round((self._here.monotonic() - self.started) * 1000)
        if self.answer is not None:
            return Seen(answer=self.answer, elapsed_ms=elapsed_ms)
        if self.course is None:
            return Seen(answer=self.pending(), elapsed_ms=elapsed_ms)
        return Seen(answer=self.pending(), step=self.course.step, elapsed_ms=elapsed_ms, progress=self.course.progress)


def pending(call_id: str, effect_id: str) -> Answer:
    """A call that is being carried out."""
    outcome = Pending(approval_id="", message=RUNNING, state=PendingState.RUNNING)
    return Answer(call_id=call_id, effect_id=effect_id, outcome=outcome)
