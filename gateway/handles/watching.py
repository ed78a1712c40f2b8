"""Following a call until it has ended."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator

from gateway.call import Principal
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.handles.asking import Asking
from gateway.handles.base import Seen
from gateway.handles.running import Here
from gateway.places import Places

STEP_SECONDS = 0.2
"""How often a call that is at work here is looked at."""
POLL_SECONDS = 1.0
"""How often the store is asked for one that is elsewhere, or waits."""
_ENDS = "The gateway ends. Ask for the call again in a moment."


class Watching:
    """Follows calls for those who may know of them: so many at once for one agent."""

    def __init__(self, here: Here, asking: Asking, *, most: int) -> None:
        self._here = here
        self._asking = asking
        self._places = Places(most)
        self._ending = asyncio.Event()

    @property
    def open(self) -> int:
        """How many follow a call now."""
        return self._places.held

    def end(self) -> None:
        """The gateway ends: nobody follows anything any more."""
        self._ending.set()

    async def watch(self, principal: Principal, call_id: str) -> AsyncGenerator[Seen, None]:
        """The call as it stands, again whenever that changes, and last when it has ended.

        Raises `Refusal`: `caller_rate` beyond what one agent may follow, `store_unavailable`; and `Refused` when
        the gateway ends.
        """
        with self._place(principal):
            before: Seen | None = None
            while True:
                seen = await self._asking.of_id(principal, call_id)
                if before is None or _told(seen) != _told(before):
                    yield seen
                if seen.has_ended:
                    return
                before = seen
                await self._turn(principal, call_id)

    async def _turn(self, principal: Principal, call_id: str) -> None:
        """Returns when something may have changed. Raises `Refused` when the gateway ends."""
        running = self._here.of(principal, call_id)
        if self._ending.is_set():
            raise Refused(RefusedKind.UNAVAILABLE, _ENDS)
        if running is not None and running.answer is None:
            await running.changed(STEP_SECONDS)
        else:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), POLL_SECONDS)

    @contextlib.contextmanager
    def _place(self, principal: Principal) -> Iterator[None]:
        whose = (principal.tenant, principal.agent)
        if not self._places.has_room(whose):
            message = "You follow too many calls at once. End one, or ask for this call now and then."
            raise Refusal(Reason.CALLER_RATE, message, retry_after_ms=1000)
        with self._places.one(whose):
            yield


def _told(seen: Seen) -> tuple[object, ...]:
    """All of it but the time, which always changes."""
    return seen.answer, seen.step, seen.progress
