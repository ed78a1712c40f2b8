"""What became of an effect on a calendar. Each answer is proof, or it is `STILL_UNKNOWN`.

That an effect did not happen is said only where a request that is still on its way could not do it a second time: a
new event has an id of its own, which Google takes once, and a change names the version that it is made to.
"""

from typing import Any

from adapters.base import AdapterError, ErrorKind, Finding, Invocation
from adapters.calendar.failures import Gone
from adapters.calendar.marks import event_id, is_marked
from adapters.transport.api import Api
from adapters.transport.calls import Call, path_of

_EVENTS = "/calendars/{}/events"
_EVENT = "/calendars/{}/events/{}"


async def find_created(api: Api, invocation: Invocation) -> Finding:
    """By the event's id, which this effect alone uses. A deleted event was made first."""
    calendar, event = invocation.arguments["calendar_id"], event_id(invocation.effect_id)
    try:
        reply = await api.ask(invocation, Call(path=path_of(_EVENT, calendar, event)))
    except Gone:
        return Finding.DONE
    except AdapterError as error:
        is_absent = error.kind is ErrorKind.NOT_FOUND and await _is_visible(api, invocation)
        return Finding.NOT_DONE if is_absent else Finding.STILL_UNKNOWN
    return Finding.DONE if _id(reply.value) == event else Finding.STILL_UNKNOWN


async def find_updated(api: Api, invocation: Invocation) -> Finding:
    """By the mark that it leaves. Without it, only an event that is still the version to be changed was not changed."""
    try:
        event = await _event(api, invocation)
    except Gone:
        event = None
    if event is None:
        return Finding.STILL_UNKNOWN
    if is_marked(event, invocation.effect_id):
        return Finding.DONE
    return Finding.NOT_DONE if event.get("etag") == invocation.arguments["etag"] else Finding.STILL_UNKNOWN


async def find_cancelled(api: Api, invocation: Invocation) -> Finding:
    """By what the event is now: to cancel it again does no harm."""
    try:
        event = await _event(api, invocation)
    except Gone:
        return Finding.DONE
    status = None if event is None else event.get("status")
    if status == "cancelled":
        return Finding.DONE
    return Finding.NOT_DONE if status in ("confirmed", "tentative") else Finding.STILL_UNKNOWN


async def _event(api: Api, invocation: Invocation) -> dict[str, Any] | None:
    """The event as it stands; None when nobody can tell. Raises `Gone`."""
    arguments = invocation.arguments
    try:
        reply = await api.ask(invocation, Call(path=path_of(_EVENT, arguments["calendar_id"], arguments["event_id"])))
    except Gone:
        raise
    except AdapterError:
        return None
    return reply.value if _id(reply.value) == arguments["event_id"] else None


async def _is_visible(api: Api, invocation: Invocation) -> bool:
    """Whether the account still sees the calendar: one that it may not see has no events either."""
    path = path_of(_EVENTS, invocation.arguments["calendar_id"])
    try:
        reply = await api.ask(invocation, Call(path=path, query={"maxResults": 1}))
    except AdapterError:
        return False
    return isinstance(reply.value, dict) and isinstance(reply.value.get("items"), list)


def _id(value: Any) -> object:
    return value.get("id") if isinstance(value, dict) else None
