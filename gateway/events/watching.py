"""Watching events: each at least once, in the order in which they came in, and no more of them in memory than a few.

What somebody gets is read off the registry again for every few events, and for each just before it leaves.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field

from adapters.base import Clock
from gateway.call import Principal
from gateway.errors import Reason, Refusal, Refused, RefusedKind
from gateway.events.base import Told
from gateway.events.cursors import Cursors, not_a_cursor
from gateway.events.heads import Heads
from gateway.events.interest import Asked, Interest, interest_of
from gateway.events.kept import KeptEvents, unavailable
from gateway.places import Places
from gateway.registry.catalogue import Catalogue

SIGN_SECONDS = 15.0
"""How long nothing is said."""
LONGEST_SECONDS = 3600.0
"""How long a stream lasts: whoever watches shows again who it is."""
PAGE = 256
"""Events that are looked at together, without their content."""
FEW = 8
"""Events that are in memory together for one who watches."""
_ENDS = "The gateway ends. Watch again in a moment, from the last cursor that you got."
_OVER = "You have watched for an hour. Watch again, from the last cursor that you got."


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An event, or without one a sign of life."""

    event: Told | None = None
    cursor: str = field(repr=False)
    missed: bool = False
    """Whether events before this one are not kept any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchParts:
    """What a `Watching` works with."""

    kept: KeptEvents
    heads: Heads
    cursors: Cursors
    catalogue: Callable[[], Catalogue]
    check: Callable[[Principal], None]
    """Raises `Refusal` when an operator has stopped this caller."""
    clock: Clock
    most_watchers: int
    """Of one agent."""
    most_in_all: int
    """A listener has so many places for requests of any kind: who watches must leave some to who calls."""


@dataclass(slots=True)
class _Stand:
    """How far one who watches has come."""

    number: int
    ends_at: float
    has_missed: bool = False
    told_at: float = float("-inf")
    has_more: bool = False
    """Whether there may be more behind the number now."""


class Watching:
    """Streams events to those who watch: so many at once for one agent."""

    def __init__(
        self, parts: WatchParts, *, sign_seconds: float = SIGN_SECONDS, longest_seconds: float = LONGEST_SECONDS
    ) -> None:
        self._parts = parts
        self._sign_seconds = sign_seconds
        self._longest_seconds = longest_seconds
        self._places = Places(parts.most_watchers)
        self._is_ending = False

    @property
    def open(self) -> int:
        """How many watch now."""
        return self._places.held

    def drain(self) -> None:
        """The gateway ends: nobody watches any more."""
        self._is_ending = True
        self._parts.heads.ring()

    async def watch(
        self, principal: Principal, asked: Asked, *, after: str, from_oldest: bool
    ) -> AsyncGenerator[Seen, None]:
        """Events from behind the cursor `after` on; without one from now on, or from the oldest that is kept. The
        first answer comes at once.

        Raises `Refused`: `invalid` for what is no cursor of this caller's, `unavailable` when the stream is over; and
        `Refusal`: `caller_rate` beyond what one agent may watch, `stopped`, `store_unavailable`.
        """
        parts = self._parts
        with self._place(principal):
            stand = await self._begin(principal, after, from_oldest=from_oldest)
            async with parts.heads.followed(principal.tenant):
                while True:
                    async with contextlib.aclosing(self._some(principal, asked, stand)) as some:
                        async for seen in some:
                            yield seen
                    self._check(principal, stand)  # what rang meanwhile was not waited for
                    left = stand.told_at + self._sign_seconds - parts.clock.monotonic()
                    if left <= 0:
                        yield await self._said(principal, stand)
                    elif not stand.has_more:
                        await parts.heads.beyond(principal.tenant, stand.number, left)

    async def _begin(self, principal: Principal, after: str, *, from_oldest: bool) -> _Stand:
        parts = self._parts
        ends_at = parts.clock.monotonic() + self._longest_seconds
        head = await parts.kept.head(principal.tenant)
        if not after:
            return _Stand(head.floor if from_oldest else head.number, ends_at)
        with unavailable():
            number = await parts.cursors.read(principal, after)
        if number > head.number:
            raise not_a_cursor()  # of another store, or of one that was set back
        return _Stand(number, ends_at)

    async def _some(self, principal: Principal, asked: Asked, stand: _Stand) -> AsyncGenerator[Seen, None]:
        """Of the next events those that this caller gets."""
        self._check(principal, stand)
        interest = self._interest(principal, asked)
        page = await self._parts.kept.page(principal.tenant, stand.number, interest.connections, PAGE)
        # What is beyond the head was of a store that was set back since: its numbers are given anew.
        if not page.head.floor <= stand.number <= page.head.number:
            number = page.head.floor if stand.number < page.head.floor else page.head.number
            stand.number, stand.has_missed = number, stand.has_missed or bool(interest.connections)
        wanted = [one.number for one in page.events if interest.takes(one.connection, one.kind)]
        for first in range(0, len(wanted), FEW):
            read = await self._parts.kept.read(principal.tenant, wanted[first : first + FEW])
            stand.has_missed = stand.has_missed or read.has_lost
            for number, event in read.events:
                self._check(principal, stand)  # whoever reads slowly may have been stopped meanwhile
                if self._interest(principal, asked).takes(event.connection, event.kind):
                    stand.number = number
                    yield await self._said(principal, stand, event)
        stand.has_more = len(page.events) == PAGE
        stand.number = max(stand.number, page.events[-1].number if stand.has_more else page.head.number)

    async def _said(self, principal: Principal, stand: _Stand, event: Told | None = None) -> Seen:
        with unavailable():
            cursor = await self._parts.cursors.write(principal, stand.number)
        missed, stand.has_missed = stand.has_missed, False
        stand.told_at = self._parts.clock.monotonic()
        return Seen(event=event, cursor=cursor, missed=missed)

    def _interest(self, principal: Principal, asked: Asked) -> Interest:
        return interest_of(self._parts.catalogue(), principal, asked)

    def _check(self, principal: Principal, stand: _Stand) -> None:
        if self._is_ending:
            raise Refused(RefusedKind.UNAVAILABLE, _ENDS)
        if self._parts.clock.monotonic() >= stand.ends_at:
            raise Refused(RefusedKind.UNAVAILABLE, _OVER)
        self._parts.check(principal)

    @contextlib.contextmanager
    def _place(self, principal: Principal) -> Iterator[None]:
        whose = (principal.tenant, principal.agent)
        if not self._places.has_room(whose):
            message = "You watch events in too many places at once. End one of these streams first."
            raise Refusal(Reason.CALLER_RATE, message, retry_after_ms=1000)
        if self.open >= self._parts.most_in_all:
            message = "As many watch events here as this gateway has room for. Watch again later, or at another."
            raise Refusal(Reason.CALLER_RATE, message, retry_after_ms=10_000)
        with self._places.one(whose):
            yield
