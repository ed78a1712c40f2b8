"""What servers publish: looked at no more often than is needed, and never twice at once in one session."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened
from adapters.mcp_upstream.base import Session
from adapters.mcp_upstream.pins import pins_by_name

FRESH_SECONDS = 60.0
"""How long a server is believed that does not say that its tools changed: not every server can say so."""
LOOK_SECONDS = 10.0
"""The longest that one call may look while others wait to."""
MAX_LOOKS = 3
"""So often one call looks, when each time the server says meanwhile that its tools changed."""

Tools = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class _Look:
    """The last look that was had in one session."""

    alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    changes: int = 0
    """How often the server had said that its tools changed when the look began."""
    until: float = float("-inf")
    pins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def holds(self, session: Session, now: float) -> bool:
        """Whether it still says what the session's server publishes."""
        return self.changes == session.tools_changed and now < self.until


class Looks:
    """One for each session, and forgotten with it: who answers in another session need not be the same."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks: WeakKeyDictionary[Session, _Look] = WeakKeyDictionary()

    async def pins(self, session: Session, deadline: float) -> Mapping[str, tuple[str, ...]]:
        """The pins of every tool by its name, no older than a minute. Raises `AdapterError`: nothing was called."""
        look = self._of(session)
        if not look.holds(session, self._clock.monotonic()):
            async with self._alone(look, deadline):
                await self._look(look, session, deadline)
        return look.pins

    async def tools(self, session: Session, deadline: float) -> Tools:
        """Every tool as it is published now. Raises `AdapterError`."""
        look = self._of(session)
        async with self._alone(look, deadline):
            return await self._listed(look, session, deadline)

    async def _look(self, look: _Look, session: Session, deadline: float) -> None:
        """Until it holds. Whoever was first has looked for all."""
        for _ in range(MAX_LOOKS):
            if look.holds(session, self._clock.monotonic()):
                return
            await self._listed(look, session, deadline)
        if not look.holds(session, self._clock.monotonic()):
            message = "The upstream server's tools change all the time, so nothing was sent; try again later."
            raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO)

    def _of(self, session: Session) -> _Look:
        return self._looks.setdefault(session, _Look())

    async def _listed(self, look: _Look, session: Session, deadline: float) -> Tools:
        """A change that is told while the list is on its way counts as not seen: the list may be of before it."""
        began, changes = self._clock.monotonic(), session.tools_changed
        tools = await session.tools(min(deadline, began + LOOK_SECONDS))
        look.pins, look.changes, look.until = pins_by_name(tools), changes, began + FRESH_SECONDS
        return tools

    @asynccontextmanager
    async def _alone(self, look: _Look, deadline: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(max(deadline - self._clock.monotonic(), 0.0)):
                await look.alone.acquire()
        except TimeoutError as error:
            message = "The call's time was up before the upstream server had said which tools it has; nothing was sent."
            raise AdapterError(ErrorKind.DEADLINE, message, happened=Happened.NO, fault=Fault.TIMEOUT) from error
        try:
            yield
        finally:
            look.alone.release()
