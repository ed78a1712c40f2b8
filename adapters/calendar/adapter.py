"""Google Calendar, version 3 of its API."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Operation, Output, SideEffect, Target
from adapters.calendar import answers, arguments, bodies, previews, reconcile
from adapters.calendar.failures import Gone, Taken, judge, pauses
from adapters.calendar.marks import event_id
from adapters.calendar.proof import OPTIONS, authorises, option_problems
from adapters.transport.api import ApiAdapter, ApiParts, Vendor
from adapters.transport.calls import Call, path_of
from adapters.transport.cursors import cursor_to
from adapters.transport.operations import changing, reading
from adapters.transport.replies import Reply, malformed

BASE_URL = "https://www.googleapis.com/calendar/v3"
_EVENTS = "/calendars/{}/events"
_EVENT = "/calendars/{}/events/{}"
_SERIES = (
    "This is a recurring event with all its occurrences. Use the id of one occurrence from calendar_list_events, or "
    "set `whole_series` when all of them are meant."
)


class CalendarAdapter(ApiAdapter):
    """Events of calendars, and when people are free."""

    name = "calendar"

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url=BASE_URL, authorises=authorises(parts), judge=judge, pauses=pauses)
        super().__init__(vendor, parts, options=OPTIONS)
        self.operations: Mapping[str, Operation] = {each.name: each for each in (*self._reads(), *self._sends())}

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a connection; empty when all is well."""
        return [*super().check_target(target), *option_problems(target)]

    def _reads(self) -> list[Operation]:
        return [
            reading("list_events", arguments.ListArguments, arguments.prepare_list, self._list),
            reading("get_event", arguments.GetArguments, arguments.prepare_get, self._get),
            reading("free_busy", arguments.FreeBusyArguments, arguments.prepare_free_busy, self._free_busy),
        ]

    def _sends(self) -> list[Operation]:
        send = partial(changing, side_effect=SideEffect.SEND)
        return [
            send(
                "create_event",
                arguments.CreateArguments,
                arguments.prepare_create,
                self._create,
                partial(reconcile.find_created, self.api),
            ),
            send(
                "update_event",
                arguments.UpdateArguments,
                arguments.prepare_update,
                self._update,
                partial(reconcile.find_updated, self.api),
                preview=self._preview_update,
            ),
            send(
                "cancel_event",
                arguments.CancelArguments,
                arguments.prepare_cancel,
                self._cancel,
                partial(reconcile.find_cancelled, self.api),
                preview=self._preview_cancel,
            ),
        ]

    async def _list(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        query = {
            "timeMin": asked["time_min"],
            "timeMax": asked["time_max"],
            "q": asked["query"],
            "maxResults": asked["limit"],
            "pageToken": asked["page"],
            "singleEvents": True,
            "orderBy": "startTime",
        }
        reply = await self.api.ask(invocation, Call(path=path_of(_EVENTS, asked["calendar_id"]), query=query))
        events, page = answers.event_page(reply)
        structured = {"events": events, "next_cursor": cursor_to(page, "list_events", asked)}
        count = len(events)
        receipt = f"Read {count} event{'' if count == 1 else 's'} of the calendar."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def _get(self, invocation: Invocation) -> Output:
        reply = await self._event(invocation)
        structured = answers.whole_event(reply, reply.value)
        return Output(structured=structured, receipt="Read one event of the calendar.", attempts=reply.attempts)

    async def _free_busy(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        body = {
            "timeMin": asked["time_min"],
            "timeMax": asked["time_max"],
            "items": [{"id": calendar} for calendar in asked["calendars"]],
        }
        reply = await self.api.ask(invocation, Call(method="POST", path="/freeBusy", json=body, is_read=True))
        calendars = answers.busy_times(reply, asked["calendars"])
        known = sum(each["error"] is None for each in calendars)
        receipt = f"Looked up when {known} of {len(calendars)} calendars are busy."
        return Output(structured={"calendars": calendars}, receipt=receipt, attempts=reply.attempts)

    async def _create(self, invocation: Invocation) -> Output:
        """An id that is taken already may be of an attempt of this very call, which then has happened."""
        asked, own_id = invocation.arguments, event_id(invocation.effect_id)
        call = Call(
            method="POST",
            path=path_of(_EVENTS, asked["calendar_id"]),
            query=bodies.updates(asked),
            json=bodies.new_event(asked, invocation.effect_id),
        )
        try:
            reply = await self.api.ask(invocation, call)
        except Taken as taken:
            reply = await self._own(invocation, own_id, taken)
        structured = answers.written_event(reply, reply.value)
        return Output(structured=structured, receipt=_receipt("Created an event", asked), attempts=reply.attempts)

    async def _own(self, invocation: Invocation, own_id: str, taken: Taken) -> Reply:
        """The event that an earlier attempt has made: the id is of this effect alone, whoever changed the event since.

        Raises `AdapterError` (conflict) when it was deleted since, or when nobody can tell.
        """
        try:
            reply = await self._event(invocation, own_id)
        except Gone:
            raise _was_deleted() from None
        except AdapterError:
            raise _in_doubt(taken) from None
        if not isinstance(reply.value, dict) or reply.value.get("id") != own_id:
            raise _in_doubt(taken)
        if reply.value.get("status") == "cancelled":
            raise _was_deleted()
        return reply

    async def _update(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        attendees = await self._checked(invocation)
        call = Call(
            method="PATCH",
            path=path_of(_EVENT, asked["calendar_id"], asked["event_id"]),
            query=bodies.updates(asked),
            json=bodies.changed_event(asked, invocation.effect_id, attendees),
            headers={"If-Match": asked["etag"]},
        )
        reply = await self.api.ask(invocation, call)
        structured = answers.written_event(reply, reply.value)
        return Output(structured=structured, receipt=_receipt("Changed an event", asked), attempts=reply.attempts)

    async def _checked(self, invocation: Invocation) -> list[dict[str, Any]] | None:
        """Who shall be invited, None for whoever is. Raises `AdapterError` for what is not to be changed so."""
        asked = invocation.arguments
        if asked["attendees"] is None and asked["whole_series"]:
            return None
        event = await self._one(invocation)
        if event.get("etag") != asked["etag"]:
            raise _no(ErrorKind.CONFLICT, "The event was changed meanwhile; get it again and use its new etag.")
        if asked["attendees"] is None:
            return None
        if event.get("attendeesOmitted") is True:
            raise _no(ErrorKind.FORBIDDEN, "The account cannot see everybody who is invited, so it cannot change that.")
        return bodies.wanted_attendees(event, asked["attendees"])

    async def _one(self, invocation: Invocation) -> dict[str, Any]:
        """The event as Google tells it. Raises `AdapterError` (invalid) for a whole series that nobody asked for."""
        reply = await self._event(invocation)
        event = reply.value if isinstance(reply.value, dict) else malformed(reply)
        if answers.is_series(event) and not invocation.arguments["whole_series"]:
            raise _no(ErrorKind.INVALID, _SERIES)
        return event

    async def _cancel(self, invocation: Invocation) -> Output:
        """An event that was deleted before is cancelled all the same."""
        asked = invocation.arguments
        call = Call(
            method="DELETE", path=path_of(_EVENT, asked["calendar_id"], asked["event_id"]), query=bodies.updates(asked)
        )
        try:
            if not asked["whole_series"] and (await self._one(invocation)).get("status") == "cancelled":
                return _cancelled_before(asked, attempts=1)
            reply = await self.api.ask(invocation, call)
        except Gone as gone:
            return _cancelled_before(asked, gone.attempts)
        receipt = _receipt("Cancelled an event", asked)
        return Output(structured=_cancelled(asked, was=False), receipt=receipt, attempts=reply.attempts)

    async def _preview_update(self, invocation: Invocation) -> Any:
        return previews.of_update(await self._whole(invocation), invocation.arguments)

    async def _preview_cancel(self, invocation: Invocation) -> Any:
        return previews.of_cancel(await self._whole(invocation))

    async def _whole(self, invocation: Invocation) -> dict[str, Any]:
        reply = await self._event(invocation)
        return answers.whole_event(reply, reply.value)

    async def _event(self, invocation: Invocation, own_id: str | None = None) -> Reply:
        asked = invocation.arguments
        path = path_of(_EVENT, asked["calendar_id"], asked["event_id"] if own_id is None else own_id)
        return await self.api.ask(invocation, Call(path=path))


def _cancelled(asked: Mapping[str, Any], *, was: bool) -> dict[str, Any]:
    return {"id": asked["event_id"], "status": "cancelled", "was_cancelled_before": was}


def _cancelled_before(asked: Mapping[str, Any], attempts: int) -> Output:
    receipt = "The event was cancelled before; nothing was sent."
    return Output(structured=_cancelled(asked, was=True), receipt=receipt, attempts=attempts)


def _receipt(done: str, asked: Mapping[str, Any]) -> str:
    return f"{done}; {'invitations or notices were sent' if asked['sends_invitations'] else 'nobody was notified'}."


def _was_deleted() -> AdapterError:
    """An earlier attempt made the event: to say that nothing happened would have it made again."""
    message = "The event was created by an earlier attempt of this call, and was deleted since."
    return AdapterError(ErrorKind.CONFLICT, message, happened=Happened.YES)


def _in_doubt(taken: Taken) -> AdapterError:
    """The id is taken, and only this effect takes it; what is there could not be seen."""
    return AdapterError(taken.kind, taken.message, happened=Happened.UNKNOWN, attempts=taken.attempts)


def _no(kind: ErrorKind, message: str) -> AdapterError:
    return AdapterError(kind, message, happened=Happened.NO)
