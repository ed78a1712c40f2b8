"""Lines of what people and trusted runtimes do: decisions, resolutions, changes of what there is.

A deed begins in the journal before it is done and has its line before anybody is told, as a call does; a crash in
between leaves a line that says `unknown`.
"""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from adapters.base import Clock
from gateway.audit.base import Begin, Journal, Line, LineKind, Sink
from gateway.call import Principal, Surface
from gateway.clock import rfc3339
from gateway.errors import Refusal, Refused, RefusedKind

NOTE_CHARACTERS = 300


class Deed:
    """One deed, while it is done."""

    def __init__(self, begin: Begin, note: str) -> None:
        self.id = begin.call_id
        self.begin = begin
        self._told: dict[str, Any] = {"note": note[:NOTE_CHARACTERS]}

    def tell(self, **fields: Any) -> None:
        """What its line says beside who did it and when: fields of `Line`. `agent` and `run_id` say whose it is."""
        self._told.update(fields)

    def line(self, outcome: str, reason: str) -> Line:
        """Its line."""
        fields = self.begin._asdict() | {"outcome": outcome, "reason": reason} | self._told
        return Line(**fields)


class Deeds:
    """Lets deeds be done, each with exactly one line."""

    def __init__(self, journal: Journal, sink: Sink, *, clock: Clock, new_id: Callable[[], str]) -> None:
        self._journal = journal
        self._sink = sink
        self._clock = clock
        self._new_id = new_id
        self.counts: Counter[tuple[str, str]] = Counter()
        """How many deeds have ended since the start, by kind and outcome."""

    @contextlib.asynccontextmanager
    async def of(self, kind: LineKind, principal: Principal, *, what: str = "", note: str = "") -> AsyncIterator[Deed]:
        """A deed of this principal: do it inside. `what` is the tool or the row that it is about.

        Its line is on stable storage when the block is over: `ok`, or what was raised. Raises `Refused` of the kind
        `unavailable` when it cannot begin, or could not be written down; it may have been done then. Whatever else
        is raised inside goes its way after its line.
        """
        deed = self._begun(kind, principal, what, note)
        try:
            yield deed
        except Refused as refused:
            await self._end(deed, refused.kind.value, "")
            raise
        except Refusal as refusal:
            await self._end(deed, refusal.code.value, refusal.reason.value)
            raise
        except BaseException:
            await self._end(deed, "unknown", "")
            raise
        await self._end(deed, "ok", "")

    def _begun(self, kind: LineKind, principal: Principal, what: str, note: str) -> Deed:
        begin = Begin(
            time=rfc3339(self._clock.now()),
            kind=kind,
            call_id=self._new_id(),
            tenant=principal.tenant,
            principal=principal.id,
            principal_kind=principal.kind.value,
            agent=principal.agent,
            proof=principal.proof,
            surface=Surface.GRPC.value,
            tool=what,
        )
        try:
            self._journal.begin(begin)
        except Refusal as refusal:
            raise Refused(RefusedKind.UNAVAILABLE, "This cannot be written down now, so nothing was done.") from refusal
        return Deed(begin, note)

    async def _end(self, deed: Deed, outcome: str, reason: str) -> None:
        line = deed.line(outcome, reason)
        self.counts[line.kind.value, line.outcome] += 1  # also when the line is owed from here on
        try:
            await self._sink.append(line)
        except Refusal as refusal:
            message = "This may have been done and could not be written down yet. Look before you do it again."
            raise Refused(RefusedKind.UNAVAILABLE, message) from refusal
