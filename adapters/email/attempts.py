"""How often it is tried to get a connection. Nothing was sent until then, so that may be repeated, and nothing else."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from adapters.base import AdapterError, Clock
from adapters.email.failures import ConnectFailure

MAX_CONNECTS = 3
RETRY_SECONDS = 0.5
"""The longest pause before the second attempt to connect; it doubles after that."""

T = TypeVar("T")


async def repeated(
    attempt: Callable[[], Awaitable[T]], clock: Clock, chance: Callable[[], float], deadline: float
) -> tuple[T, int]:
    """What came of it, and the number of attempts that it took. Raises `AdapterError`, which says that number too.

    No pause reaches past the deadline.
    """
    count = 1
    while True:
        try:
            return await attempt(), count
        except AdapterError as failure:
            failure.attempts = count
            pause = RETRY_SECONDS * 2 ** (count - 1) * chance()
            is_too_late = clock.monotonic() + pause >= deadline
            if not isinstance(failure, ConnectFailure) or count == MAX_CONNECTS or is_too_late:
                raise
        await clock.sleep(pause)
        count += 1
