"""When Linear may be asked again: it counts requests and complexity, over all and by endpoint, in leaky buckets.

https://linear.app/developers/rate-limiting: resets are in milliseconds since the epoch, and a refusal is a 400.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.transport.api import Pause
from adapters.transport.replies import Reply

_OVER_ALL = ("Requests", "Complexity")
_MOST_NAME = 64
_WINDOW_SECONDS = 3600.0
"""Of every limit of Linear's: a reset that is further away is no reset."""


def pauses(reply: Reply, now: float) -> Iterator[Pause]:
    """What the headers say of when to ask again; `now` is in seconds since the epoch."""
    for limit in _OVER_ALL:
        seconds = _left(reply.headers, limit, now)
        if seconds:
            yield Pause(seconds=seconds)
    endpoint = reply.headers.get("X-RateLimit-Endpoint-Name", "")
    seconds = _left(reply.headers, "Endpoint-Requests", now)
    if seconds and 0 < len(endpoint) <= _MOST_NAME:
        yield Pause(seconds=seconds, name=endpoint)
    if reply.retry_after_seconds and is_rate_limited(reply):
        yield Pause(seconds=reply.retry_after_seconds)


def wait_seconds(reply: Reply, now: float) -> float | None:
    """How long a refused call has to wait; None when Linear does not say."""
    return max((pause.seconds for pause in pauses(reply, now)), default=reply.retry_after_seconds)


def is_rate_limited(reply: Reply) -> bool:
    """Whether one of the answer's errors is that a limit is reached."""
    errors = reply.value.get("errors") if isinstance(reply.value, Mapping) else None
    return isinstance(errors, list) and any(_is_limit(error) for error in errors)


def _is_limit(error: Any) -> bool:
    extensions = error.get("extensions") if isinstance(error, Mapping) else None
    told = extensions if isinstance(extensions, Mapping) else {}
    return any(isinstance(told.get(key), str) and told[key].upper() == "RATELIMITED" for key in ("code", "type"))


def _left(headers: Mapping[str, str], limit: str, now: float) -> float | None:
    """Seconds until a limit that is used up begins anew; None while something is left of it."""
    remaining = _number(headers.get(f"X-RateLimit-{limit}-Remaining"))
    reset = _number(headers.get(f"X-RateLimit-{limit}-Reset"))
    if remaining is None or reset is None or remaining > 0:
        return None
    return min(max(0.0, reset / 1000 - now), _WINDOW_SECONDS)


def _number(text: str | None) -> int | None:
    """A whole number that is not negative."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 16:
        return None
    return int(text)
