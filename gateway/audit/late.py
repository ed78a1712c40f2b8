"""Lines that cannot be written yet, since nobody can tell whose they are.

A gateway that did not reach the store for longer than its lease may have been taken for gone: another replica
closed its open calls and wrote their lines. Until the store can be asked, a line of ours could be a second one.
"""

import contextlib
import itertools
from collections.abc import Awaitable, Callable

from gateway.audit.base import Journal, Line, LineKind, Sink
from gateway.call import Whose
from gateway.errors import Refusal

Ask = Callable[[], Awaitable[Whose]]
CLOSED_NOTE = "Told by the gateway that had been taken for gone; another one closed the call before."


class LateLines:
    """Keeps lines until it is known whose they are. The journal still holds the beginning of each call."""

    def __init__(self, journal: Journal, sink: Sink) -> None:
        self._journal = journal
        self._sink = sink
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[Line, Ask]] = {}

    @property
    def waiting(self) -> int:
        """How many lines wait."""
        return len(self._waiting)

    def wait(self, line: Line, ask: Ask) -> None:
        """The line waits until `ask` can tell."""
        self._waiting[next(self._numbers)] = (line, ask)

    async def put(self, line: Line, whose: Whose) -> None:
        """Write a line that is ours; of a call that another closed, what came of it after all.

        Raises `Refusal(audit_unavailable)`.
        """
        if whose is Whose.ANOTHERS:
            self._journal.forget(line.kind, line.call_id)
            line = line._replace(kind=LineKind.RESOLUTION, note=CLOSED_NOTE)
        await self._sink.append(line)

    async def tick(self) -> None:
        """Write what can be told by now. What was not reached when this is broken off waits on."""
        for number, (line, ask) in tuple(self._waiting.items()):
            whose = await ask()
            if whose is Whose.UNTOLD:
                continue
            if self._waiting.pop(number, None) is not None:  # nobody else was at it meanwhile
                with contextlib.suppress(Refusal):  # the sink owes it from here on
                    await self.put(line, whose)
