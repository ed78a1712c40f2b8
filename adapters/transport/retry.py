"""When an attempt may be repeated, and after how long."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar

import tenacity

from adapters.base import AdapterError, Clock, ErrorKind

MAX_ATTEMPTS = 3
MAX_RETRY_AFTER_SECONDS = 86_400.0
"""A vendor that asks for more than a day is reported as asking for a day."""

_RETRY_STATUSES = frozenset({429, 502, 503, 504})
_FIRST_BACKOFF_SECONDS = 0.25
_NUMBER_CHARACTERS = frozenset("0123456789.+-eE")


class Answer(Protocol):
    """What a retry looks at."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def retry_after_seconds(self) -> float | None:
        """How long the vendor asks to wait, if it does."""
        ...


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a request that may be repeated is repeated: three attempts, all within `deadline`.

    `random` gives a number from 0 to 1. Whether a repetition is harmless is for the caller to know:
    the request has no effect, or the vendor tells its repetitions by a key.
    """

    clock: Clock
    random: Callable[[], float]
    deadline: float

    async def repeat(self, attempt: Callable[[], Awaitable[A]]) -> A:
        """The first answer that is worth keeping, or the last one; raises what the last attempt raised.

        When the next wait would pass the deadline it is not begun: the answer that asked for it comes
        back at once.
        """
        first = await _outcome(attempt)
        if not _is_worth_repeating(first):
            return _settled(first)
        # tenacity costs a fifth of a request, so it is asked only when there is something to repeat.
        outcomes = [first]

        async def next_outcome() -> A | AdapterError:
            return outcomes.pop() if outcomes else await _outcome(attempt)

        retrying = tenacity.AsyncRetrying(
            sleep=self.clock.sleep,
            retry=tenacity.retry_if_result(_is_worth_repeating),
            wait=self._wait,
            stop=self._is_over,
            retry_error_callback=_last_outcome,
        )
        return _settled(await retrying(next_outcome))

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Jittered backoff, and never less than the vendor asked for."""
        backoff = _FIRST_BACKOFF_SECONDS * 4.0 ** (state.attempt_number - 1)
        return max(backoff * (0.5 + self.random() / 2), _last_outcome(state).retry_after_seconds or 0.0)

    def _is_over(self, state: tenacity.RetryCallState) -> bool:
        remaining = self.deadline - self.clock.monotonic()
        return state.attempt_number >= MAX_ATTEMPTS or state.upcoming_sleep >= remaining


def retry_after_seconds(values: Sequence[str], now: float, ceiling: float) -> float | None:
    """The wait that `Retry-After` headers ask for, from 0 to `ceiling`; None when none can be read.

    Takes seconds, fractions and HTTP dates (`now` is in seconds since the epoch). A past date and a
    negative number are 0. Of several the longest counts. Never raises, whatever a vendor sends.
    """
    waits = [wait for value in values for wait in _waits(value.strip(), now)]
    return min(max(0.0, *waits), ceiling) if waits else None


def _waits(value: str, now: float) -> list[float]:
    """One wait, or several where a proxy has joined two headers with a comma."""
    date = _date(value)
    if date is not None:
        return [date - now]
    numbers = [_number(part.strip()) for part in value.split(",")]
    return [number for number in numbers if number is not None]


def _number(text: str) -> float | None:
    if not text or len(text) > 32 or not _NUMBER_CHARACTERS.issuperset(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _date(text: str) -> float | None:
    """Seconds since the epoch. What is not a date, or in a year beyond 9999, is None."""
    if len(text) > 64 or ":" not in text:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, LookupError):
        return None


async def _outcome(attempt: Callable[[], Awaitable[A]]) -> A | AdapterError:
    try:
        return await attempt()
    except AdapterError as error:
        return error


def _settled(outcome: A | AdapterError) -> A:
    if isinstance(outcome, AdapterError):
        raise outcome
    return outcome


def _is_worth_repeating(outcome: Answer | AdapterError) -> bool:
    if isinstance(outcome, AdapterError):
        return outcome.kind is ErrorKind.UNAVAILABLE
    return outcome.status in _RETRY_STATUSES


def _last_outcome(state: tenacity.RetryCallState) -> Any:
    return state.outcome.result() if state.outcome is not None else None
