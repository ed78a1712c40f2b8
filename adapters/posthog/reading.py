"""Events, persons and feature flags."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from adapters.base import Clock, Invocation, Output
from adapters.posthog import answers, queries
from adapters.posthog.asking import ANALYTICS, PLAIN, Asking
from adapters.posthog.pages import MOST, next_offset, offset_of
from adapters.transport.cursors import cursor_to
from adapters.transport.replies import Reply, malformed

Json = dict[str, Any]
_EVENTS_PAGE = re.compile(r"([0-9]{1,6}) ([0-9T:.+-]{20,40})")


class Reading:
    """The operations that look things up."""

    def __init__(self, asking: Asking, clock: Clock) -> None:
        self._asking = asking
        self._clock = clock

    async def list_events(self, invocation: Invocation) -> Output:
        """Events, the newest first. What comes in while an agent pages does not shift the pages."""
        given = invocation.arguments
        offset, before = self._events_page(given)
        query = queries.events(given, before=before, offset=offset)
        found, reply = await self._asking.query(invocation, query)
        rows = found.get("results")
        if not isinstance(rows, list):
            malformed(reply)
        following = offset + given["limit"]
        is_more = found.get("hasMore") is True and following <= MOST
        structured = {
            "events": [event for row in rows if (event := answers.event(row)) is not None],
            "next_cursor": cursor_to(f"{following} {before}" if is_more else None, "list_events", given),
        }
        return _listed(structured, "event", reply)

    async def list_persons(self, invocation: Invocation) -> Output:
        """Persons."""
        names = ("search", "email", "distinct_id")
        query = {name: invocation.arguments[name] for name in names}
        return await self._list(invocation, "/persons/", query, ANALYTICS, ("list_persons", "person", answers.person))

    async def get_person(self, invocation: Invocation) -> Output:
        """One person."""
        reply = await self._asking.get(invocation, "/persons/{}/", invocation.arguments["person_id"], limit=ANALYTICS)
        found = answers.person(reply.value)
        if found is None:
            malformed(reply)
        return Output(structured=found, receipt="Read one person of PostHog.", attempts=reply.attempts)

    async def list_feature_flags(self, invocation: Invocation) -> Output:
        """Feature flags, without whom they are for."""
        query = {"search": invocation.arguments["search"], "active": invocation.arguments["is_active"]}
        reading = ("list_feature_flags", "flag", answers.flag)
        return await self._list(invocation, "/feature_flags/", query, PLAIN, reading)

    async def get_feature_flag(self, invocation: Invocation) -> Output:
        """One feature flag, and whom it is for."""
        reply = await self._asking.get(invocation, "/feature_flags/{}/", invocation.arguments["flag_id"], limit=PLAIN)
        found = answers.flag(reply.value)
        if found is None:
            malformed(reply)
        structured = {**found, "conditions": answers.conditions(reply.value)}
        return Output(structured=structured, receipt="Read one feature flag of PostHog.", attempts=reply.attempts)

    async def _list(
        self,
        invocation: Invocation,
        path: str,
        query: Mapping[str, Any],
        limit: str,
        reading: tuple[str, str, Callable[[Any], Json | None]],
    ) -> Output:
        operation, noun, read = reading
        offset = offset_of(invocation.arguments["page"])
        paged = {**query, "limit": invocation.arguments["limit"], "offset": offset}
        reply = await self._asking.get(invocation, path, query=paged, limit=limit)
        nodes = reply.value.get("results") if isinstance(reply.value, Mapping) else None
        if not isinstance(nodes, list):
            malformed(reply)
        page = next_offset(reply.value.get("next"), offset)
        structured = {
            f"{noun}s": [item for node in nodes if (item := read(node)) is not None],
            "next_cursor": cursor_to(page, operation, invocation.arguments),
        }
        return _listed(structured, noun, reply)

    def _events_page(self, given: Mapping[str, Any]) -> tuple[int, str]:
        """How many events to leave out, and before which moment they are."""
        page = _EVENTS_PAGE.fullmatch(str(given["page"] or ""))
        if page is None:
            now = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="milliseconds")
            return 0, given["before"] or now
        return offset_of(page[1]), given["before"] or page[2]


def _listed(structured: Json, noun: str, reply: Reply) -> Output:
    count = len(structured[f"{noun}s"])
    more = ", and there are more" if structured["next_cursor"] else ""
    receipt = f"Found {count} {noun}{'' if count == 1 else 's'} in PostHog{more}."
    return Output(structured=structured, receipt=receipt, attempts=reply.attempts)
