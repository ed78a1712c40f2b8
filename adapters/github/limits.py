"""When GitHub wants to be asked again: its primary limits by resource, and its secondary ones of the whole account.

https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
"""

import re
from collections.abc import Iterator

from adapters.transport.api import Pause
from adapters.transport.replies import Reply

CORE, SEARCH = "core", "search"
"""The limits that our calls count to, as GitHub names them in `X-RateLimit-Resource`."""
SECONDARY_SECONDS = 60.0
"""How long at least, when GitHub speaks of a secondary limit and names no time."""
MAX_RESET_SECONDS = 3600.0
"""No primary limit lasts longer: what seems to is a clock that is wrong."""

_SECONDARY = re.compile(r"secondary rate limit|abuse detection|submitted too quickly", re.IGNORECASE)
_PRIMARY = re.compile(r"api rate limit exceeded", re.IGNORECASE)
_RESOURCE = re.compile(r"[a-z_]{1,40}")


def pauses(reply: Reply, now: float) -> Iterator[Pause]:
    """What an answer says of when to ask again: also a good one that used up what was left."""
    left = _seconds_to_reset(reply, now)
    if left is not None:
        yield Pause(seconds=left, name=_resource(reply))
    wait = limit_seconds(reply, now)
    if wait is not None and (left is None or is_secondary(reply)):
        yield Pause(seconds=wait)


def limit_seconds(reply: Reply, now: float) -> float | None:
    """How long a refusal asks to wait, when it is one for having asked too often; None when it is not."""
    if reply.status not in (403, 422, 429):
        return None
    if reply.status == 422:
        return SECONDARY_SECONDS if is_secondary(reply) else None
    asked, left = reply.retry_after_seconds, _seconds_to_reset(reply, now)
    if asked is not None:
        return max(asked, left or 0.0)
    if left is not None:
        return left
    is_limit = reply.status == 429 or is_secondary(reply) or _PRIMARY.search(said(reply)) is not None
    return SECONDARY_SECONDS if is_limit else None


def is_secondary(reply: Reply) -> bool:
    """Whether GitHub speaks of a secondary limit: the only place where it says so is its message."""
    return _SECONDARY.search(said(reply)) is not None


def said(reply: Reply) -> str:
    """All that GitHub says of an error, to be looked through and never to be shown."""
    message = reply.value.get("message") if isinstance(reply.value, dict) else None
    parts = [message]
    for error in errors_of(reply):
        parts += [error.get("message"), error.get("code")] if isinstance(error, dict) else [error]
    return "\n".join(part[:500] for part in parts if isinstance(part, str))


def errors_of(reply: Reply) -> list[object]:
    """What GitHub says is wrong, one by one."""
    errors = reply.value.get("errors") if isinstance(reply.value, dict) else None
    return errors[:20] if isinstance(errors, list) else []


def _seconds_to_reset(reply: Reply, now: float) -> float | None:
    """How long until there is something left again; None while there is, or when it cannot be read."""
    remaining, reset = reply.headers.get("X-RateLimit-Remaining"), reply.headers.get("X-RateLimit-Reset", "")
    if remaining is None or remaining.strip() != "0":
        return None
    if not reset.isascii() or not reset.isdigit() or len(reset) > 12:
        return SECONDARY_SECONDS
    return min(max(float(reset) - now, 1.0), MAX_RESET_SECONDS)


def _resource(reply: Reply) -> str:
    name = reply.headers.get("X-RateLimit-Resource", CORE)
    return name if _RESOURCE.fullmatch(name) else CORE
