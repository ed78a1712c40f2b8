"""How long Sentry wants to be left alone. It counts each endpoint by itself, over windows of seconds.

It says how many requests are left and when the window ends (`X-Sentry-Rate-Limit-Remaining`, `…-Reset`, in seconds
since the epoch), and how many may be under way at once (`…-ConcurrentRemaining`).
"""

from collections.abc import Iterable

from adapters.transport.api import Pause
from adapters.transport.replies import Reply

CONCURRENT_SECONDS = 1.0
"""How long to wait when too many requests are under way."""
MAX_RESET_SECONDS = 600.0
"""No window is longer: what seems to be is a clock that is wrong."""
_PREFIX = "X-Sentry-Rate-Limit-"


def pauses(reply: Reply, now: float) -> Iterable[Pause]:
    """The rest of the endpoint's window, when nothing is left of it."""
    wait = wait_of(reply, now)
    if wait is not None:
        yield Pause(seconds=wait, is_of_call=True)


def wait_of(reply: Reply, now: float) -> float | None:
    """How long until the endpoint may be asked again; None when it may be at once, or nobody says."""
    reset = _number(reply, "Reset")
    if _number(reply, "Remaining") == 0 and reset is not None and reset > now:
        return min(reset - now, MAX_RESET_SECONDS)
    is_crowded = reply.status == 429 and _number(reply, "ConcurrentRemaining") == 0
    return CONCURRENT_SECONDS if is_crowded else None


def _number(reply: Reply, name: str) -> int | None:
    text = reply.headers.get(_PREFIX + name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
