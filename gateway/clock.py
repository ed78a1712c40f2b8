"""Time as an argument. The protocol is `adapters.base.Clock`; this is the real one."""

import asyncio
import functools
import time
from datetime import UTC, datetime


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)


def rfc3339(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 in UTC, to the microsecond."""
    whole, micros = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_to_the_second(whole)}.{micros:06d}Z"


@functools.lru_cache(maxsize=8)
def _to_the_second(seconds: int) -> str:
    """Calls come many to a second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
