"""Step 2: whether this caller is within its own rate of asking, and whether there is room for its call.

Every RPC counts, refused ones included, so that asking without end costs the asker alone.
"""

from collections.abc import Awaitable, Callable

from adapters.base import Fault
from gateway.call import Principal
from gateway.errors import Reason, Refusal
from gateway.rows import Rate

Take = Callable[[tuple[tuple[tuple[str, ...], Rate], ...]], Awaitable[tuple[int, float]]]
"""A limiter's `take` (see `gateway.ratelimit.base.Limiter`)."""


class Overloaded(Exception):  # noqa: N818 - a state of the gateway, not of the call
    """More calls are in flight than the gateway takes on."""


class _Place:
    """A count that is taken from and given back by `with`. Reusable, and quicker than a generator."""

    __slots__ = ("most", "taken")

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def __enter__(self) -> None:
        if self.taken >= self.most:
            raise Overloaded
        self.taken += 1

    def __exit__(self, *_: object) -> None:
        self.taken -= 1


class Admission:
    """Counts what callers ask, and how much is being worked on."""

    def __init__(self, *, take: Take, rate: Rate, max_in_flight: int) -> None:
        self._take = take
        self._rate = rate
        self._room = _Place(max_in_flight)
        self._outside = _Place(max_in_flight)

    def hold(self, rate: Rate, max_in_flight: int) -> None:
        """Other bounds from here on. Requests that have a place keep it."""
        self._rate = rate
        self._room.most = self._outside.most = max_in_flight

    @property
    def in_flight(self) -> int:
        """Requests that have a place."""
        return self._room.taken

    def active(self) -> int:
        """Calls that are being worked on here and now."""
        return self._room.taken - self._outside.taken

    @property
    def room(self) -> "_Place":
        """A place in the gateway for one request: `with admission.room:`. Entering raises `Overloaded`."""
        return self._room

    @property
    def outside(self) -> "_Place":
        """`with admission.outside:` this call waits for a vendor, and nobody else's line need wait for it."""
        return self._outside

    async def admit(self, principal: Principal) -> None:
        """Count one request of this caller. Raises `Refusal`: `caller_rate`, or `limiter_unavailable`.

        Counts in this process alone: a shared limiter that is down must not keep callers out.
        """
        key = ("caller", principal.tenant, principal.kind._value_, principal.id)
        try:
            short, wait_seconds = await self._take(((key, self._rate),))
        except Exception as error:
            message = "Requests cannot be counted right now, so none is taken. Try again later."
            raise Refusal(Reason.LIMITER_UNAVAILABLE, message, fault=Fault.ERROR) from error
        if short >= 0:
            raise Refusal(
                Reason.CALLER_RATE,
                "You are asking too often. Wait before the next request.",
                retry_after_ms=max(1, round(wait_seconds * 1000)),
            )
