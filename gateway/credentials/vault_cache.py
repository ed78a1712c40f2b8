"""What was read from a vault, for as long as it may be used."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.clients.vault_answers import SecretFields, SecretPlace, Trouble, VaultFailed

REFRESH_FROM = 0.75
JITTER = 0.2
NEGATIVE_SECONDS = 2.0
"""How long a secret that is not there, or not for us, is not asked for again."""
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.25, 1.0
_RECENT_SECONDS = 2.0
_PRUNE_SECONDS = 30.0

Read = Callable[[SecretPlace], Awaitable[SecretFields]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetimes:
    """In seconds: until what was read is read again, how much longer it may serve, and how long a caller waits."""

    cache_seconds: float
    max_stale_seconds: float
    wait_seconds: float


class Held:
    """One secret's fields, and by field what was worked out of its value; both as secret as they are."""

    __slots__ = ("derived_of", "values")

    def __init__(self, values: Mapping[str, Any], before: "Held | None" = None) -> None:
        """What was worked out before stays with each field whose value is the same."""
        self.values = values
        self.derived_of: dict[str, dict[str, Any]] = {}
        if before is not None:
            same = (name for name in before.derived_of if values.get(name) == before.values.get(name))
            self.derived_of = {name: before.derived_of[name] for name in same}

    def derived(self, name: str) -> dict[str, Any]:
        """Shared by all who use this field's value."""
        return self.derived_of.setdefault(name, {})


@dataclass(slots=True, eq=False)
class _Entry:
    held: Held | None = field(default=None, repr=False)
    read_at: float = 0.0
    refresh_at: float = 0.0
    fresh_until: float = 0.0
    stale_until: float = 0.0
    failure: Trouble | None = None
    retry_at: float = 0.0
    retry_seconds: float = 0.0
    flight: "asyncio.Task[None] | None" = None

    def usable(self, now: float) -> Held | None:
        return self.held if now < self.stale_until else None

    def must_wait(self, name: str, now: float) -> bool:
        """Whether there is nothing to use before a server was asked.

        1. Nothing is held, or what is held is too old: wait, unless a server has just said no.
        2. It has no such field, as of a while ago: somebody may have added it.
        3. It is past its time: wait, unless a server has just not answered. Then waiting costs and gains nothing.
        """
        held = self.usable(now)
        if held is None:
            return self.failure is None or now >= self.retry_at
        if name not in held.values:
            return now >= max(self.read_at + NEGATIVE_SECONDS, self.retry_at)
        is_failing = self.failure is not None and (self.flight is not None or now < self.retry_at + _RECENT_SECONDS)
        return now >= self.fresh_until and not is_failing

    def is_due(self, now: float) -> bool:
        return now >= self.refresh_at and now >= self.retry_at

    def succeed(self, fields: SecretFields, began: float, lifetime: float, max_stale: float) -> None:
        self.held = Held(fields.values, self.held)
        self.read_at = began
        self.refresh_at = began + lifetime * REFRESH_FROM
        self.fresh_until = began + lifetime
        self.stale_until = self.fresh_until + max_stale
        self.failure, self.retry_at, self.retry_seconds = None, 0.0, 0.0

    def fail(self, trouble: Trouble, now: float) -> None:
        self.failure = trouble
        if trouble.may_be_stale:
            self.retry_seconds = min(max(self.retry_seconds * 2, FIRST_RETRY_SECONDS), LAST_RETRY_SECONDS)
            self.retry_at = now + self.retry_seconds
        else:  # it was taken away: never used again
            self.held, self.retry_seconds = None, 0.0
            self.retry_at = now + NEGATIVE_SECONDS


class SecretCache:
    """Reads each secret once for all who ask at the same time, and again in the background before its time is over.

    Use it on one loop. A caller that goes away takes nobody's answer with it.
    """

    def __init__(
        self, read: Read, lifetimes: Lifetimes, *, monotonic: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        """`chance` gives numbers from 0 to 1: lifetimes differ by up to a fifth, lest all end at once."""
        self._read = read
        self._lifetimes = lifetimes
        self._monotonic = monotonic
        self._chance = chance
        self._entries: dict[SecretPlace, _Entry] = {}
        self._prune_at = 0.0

    async def get(self, place: SecretPlace, name: str) -> Held:
        """The secret, with the field of this name if it has one.

        Raises `VaultFailed` when there is no such secret, or none that may still be used.
        """
        entry = self._entries.get(place) or self._opened(place)
        now = self._monotonic()
        if entry.must_wait(name, now):
            # Neither a caller's cancellation nor its patience ends the read that others wait for.
            await asyncio.wait([self._flight(place, entry)], timeout=self._lifetimes.wait_seconds)
        elif entry.held is not None and entry.is_due(now):
            self._flight(place, entry)
        held = entry.usable(self._monotonic())
        if held is None:
            raise VaultFailed(entry.failure or Trouble.TIMEOUT)
        return held

    async def again(self, place: SecretPlace) -> Held:
        """The secret as a server has it now, whatever was read before. Raises `VaultFailed`."""
        entry = self._entries.get(place) or self._opened(place)
        if entry.flight is not None:  # it began before: what it brings may be old already
            await asyncio.wait([entry.flight], timeout=self._lifetimes.wait_seconds)
        began = self._monotonic()
        await asyncio.wait([flight := self._flight(place, entry)], timeout=self._lifetimes.wait_seconds)
        if not flight.done() or entry.failure is not None or entry.held is None or entry.read_at < began:
            raise VaultFailed(entry.failure or Trouble.TIMEOUT)
        return entry.held

    def put(self, place: SecretPlace, fields: SecretFields) -> None:
        """This is what a server has now: somebody else has just read or written it."""
        entry = self._entries.get(place) or self._opened(place)
        lifetime = self._lifetime(fields.seconds)
        entry.succeed(fields, self._monotonic(), lifetime, self._lifetimes.max_stale_seconds)

    async def close(self) -> None:
        """Forget everything and end what is still being read."""
        flights = [entry.flight for entry in self._entries.values() if entry.flight is not None]
        self._entries.clear()
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    def _opened(self, place: SecretPlace) -> _Entry:
        now = self._monotonic()
        if now >= self._prune_at:
            self._prune_at = now + _PRUNE_SECONDS
            over = [place for place, entry in self._entries.items() if not entry.flight and _is_over(entry, now)]
            for key in over:
                del self._entries[key]
        entry = self._entries[place] = _Entry()
        return entry

    def _flight(self, place: SecretPlace, entry: _Entry) -> "asyncio.Task[None]":
        """The one read that is under way; it never raises."""
        if entry.flight is None:
            entry.flight = asyncio.get_running_loop().create_task(self._fly(place, entry))
        return entry.flight

    async def _fly(self, place: SecretPlace, entry: _Entry) -> None:
        began = self._monotonic()
        try:
            fields = await self._read(place)
        except VaultFailed as failed:
            entry.fail(failed.trouble, self._monotonic())
        except Exception:  # noqa: BLE001 - whatever broke may hold the secret; callers are told that it broke
            entry.fail(Trouble.MALFORMED, self._monotonic())
        else:
            entry.succeed(fields, began, self._lifetime(fields.seconds), self._lifetimes.max_stale_seconds)
        finally:
            entry.flight = None

    def _lifetime(self, suggested: float) -> float:
        seconds = self._lifetimes.cache_seconds
        if suggested:
            seconds = max(1.0, min(seconds, suggested))
        return seconds * (1 - JITTER * self._chance())


def _is_over(entry: _Entry, now: float) -> bool:
    return now >= entry.stale_until and now >= entry.retry_at
