"""What became of a change whose outcome is unknown: Sentry is asked, and its silence is not taken for a no too soon.

An issue was not resolved, if its history reaches far enough back and does not say so, and if a request that was still
on its way has had time to arrive. A comment that is not there may have been deleted, of which Sentry keeps nothing.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from adapters.base import Clock, Finding, Invocation
from adapters.sentry import answers
from adapters.sentry.endpoints import Endpoints, issue_path
from adapters.sentry.marks import is_marked
from adapters.sentry.paging import next_page
from adapters.transport.lateness import is_early
from adapters.transport.replies import malformed
from adapters.transport.values import mappings

MAX_PAGES = 10


class Reconcile:
    """Asks about each kind of change. Raises `AdapterError` when Sentry cannot be asked."""

    def __init__(self, endpoints: Endpoints, clock: Clock) -> None:
        self._endpoints = endpoints
        self._clock = clock

    async def resolved(self, invocation: Invocation) -> Finding:
        """The issue is resolved, or was since; or its history reaches back far enough to say that it was not."""
        reply = await self._endpoints.read(invocation, "issue", issue_path(invocation))
        if answers.state(reply)["status"] == "resolved":
            return Finding.DONE
        history = mappings(reply.value.get("activity"))
        if any(_is_since(one, invocation) and str(one.get("type")).startswith("set_resolved") for one in history):
            return Finding.DONE
        is_known = any(_moment(one) is not None and not _is_since(one, invocation) for one in history)
        is_time = not is_early(self._clock, invocation)
        return Finding.NOT_DONE if is_known and is_time else Finding.STILL_UNKNOWN

    async def commented(self, invocation: Invocation) -> Finding:
        """A comment with our mark is there, or nobody knows. Sentry lists them newest first."""
        page = None
        for _ in range(MAX_PAGES):
            reply = await self._endpoints.read(
                invocation, "comments", issue_path(invocation, "comments/"), {"cursor": page}
            )
            if not isinstance(reply.value, list):
                malformed(reply)
            found = mappings(reply.value)
            if any(is_marked(_text(one), invocation.effect_id) for one in found):
                return Finding.DONE
            page = next_page(reply)
            if page is None or any(not _is_since(one, invocation) for one in found):
                break
        return Finding.STILL_UNKNOWN


async def preview_resolve(endpoints: Endpoints, invocation: Invocation) -> Any:
    """The issue's status, and what it would be. Raises `AdapterError`."""
    was = answers.state(await endpoints.read(invocation, "issue", issue_path(invocation)))
    return {"was": was, "will_be": {**was, "status": "resolved"}}


def _text(one: Mapping[str, Any]) -> object:
    data = one.get("data")
    return data.get("text") if isinstance(data, dict) else None


def _is_since(one: Mapping[str, Any], invocation: Invocation) -> bool:
    """Whether it is from after the first attempt; what has no moment that can be read may be."""
    moment = _moment(one)
    return moment is None or moment >= invocation.since


def _moment(one: Mapping[str, Any]) -> float | None:
    try:
        moment = datetime.fromisoformat(one["dateCreated"])
    except (KeyError, TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
