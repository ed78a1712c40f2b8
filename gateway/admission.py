"""Step 2: is this caller within its own rate of asking, and is there room for one more call?

Every RPC counts, refused ones included, so that asking without end costs the asker alone.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from gateway.call import Principal
from gateway.errors import Reason, Refusal
from gateway.rows import Rate

Take = Callable[[tuple[tuple[tuple[str, ...], Rate], ...]], Awaitable[tuple[int, float]]]
"""A limiter's `take` (see `gateway.ratelimit.base.Limiter`)."""


class Overloaded(Exception):  # noqa: N818 - a state of the gateway, not of the call
    """More calls are in flight than the gateway takes on."""


class Admission:
    """Counts what callers ask, and how much is being worked on."""

    def __init__(self, *, take: Take, rate: Rate, max_in_flight: int) -> None:
        self._take = take
        self._rate = rate
        self._max_in_flight = max_in_flight
        self.in_flight = 0
        self.waiting = 0
        """Calls that wait for something outside: a vendor, not our own disk."""

    def active(self) -> int:
        """Calls that are being worked on here and now."""
        return self.in_flight - self.waiting

    @contextmanager
    def room(self) -> Iterator[None]:
        """A place in the gateway for one request. Raises `Overloaded`."""
        if self.in_flight >= self._max_in_flight:
            raise Overloaded
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    @contextmanager
    def waiting_outside(self) -> Iterator[None]:
        """This call waits for a vendor: nobody else's line need wait for it."""
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    async def admit(self, principal: Principal) -> None:
        """Count one request of this caller. Raises `Refusal(caller_rate)`.

        Counts in this process alone: a shared limiter that is down must not keep callers out.
        """
        key = ("caller", principal.tenant, principal.kind, principal.id)
        short, wait_seconds = await self._take(((key, self._rate),))
        if short >= 0:
            raise Refusal(
                Reason.CALLER_RATE,
                "You are asking too often. Wait before the next request.",
                retry_after_ms=max(1, round(wait_seconds * 1000)),
            )
