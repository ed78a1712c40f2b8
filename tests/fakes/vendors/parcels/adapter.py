"""A parcel service: small, and complete. `adapters/README.md` adds it in five steps, and a test follows them."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NotRequired, TypedDict

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    ErrorKind,
    Finding,
    Happened,
    Invocation,
    Operation,
    Output,
    SideEffect,
)
from adapters.transport.api import ApiAdapter, ApiParts, Pause, Vendor
from adapters.transport.authorisation import Bearer
from adapters.transport.calls import Call, path_of
from adapters.transport.cursors import cursor_to, with_page
from adapters.transport.replies import Reply, by_status, malformed

PAGE = 20
_NUMBER = re.compile(r"[A-Z]{2}[0-9]{9}")
_FAULTS: Mapping[str, tuple[ErrorKind, str]] = {
    "PARCEL_UNKNOWN": (ErrorKind.NOT_FOUND, "There is no parcel of this number; check it with whoever sent it."),
    "PARCEL_DELIVERED": (ErrorKind.CONFLICT, "The parcel was delivered before, so nothing is picked up."),
    "DATE_FULL": (ErrorKind.CONFLICT, "No pickup is free on this `date`; ask for another day."),
    "KEY_EXPIRED": (ErrorKind.NEEDS_AUTHORISATION, "The connection's key has expired; its operator has to renew it."),
    "TOO_FAST": (ErrorKind.RATE_LIMITED, "The vendor asks for fewer calls of this account; wait before the next one."),
}
"""The vendor's own codes, which come with any status. Every other one is judged by its status."""


class GetParcel(TypedDict):
    """What an agent sends."""

    number: str


class ListParcels(TypedDict):
    """What an agent sends."""

    state: NotRequired[Literal["waiting", "moving", "delivered"]]
    cursor: NotRequired[str]


class BookPickup(TypedDict):
    """What an agent sends."""

    number: str
    date: str


class ParcelsAdapter(ApiAdapter):
    """The credential is an account's key."""

    name = "parcels"

    def __init__(self, parts: ApiParts) -> None:
        vendor = Vendor(base_url="https://api.parcels.example", authorises=Bearer(), judge=judge, pauses=pauses)
        super().__init__(vendor, parts)
        operations = (
            Operation(
                name="get_parcel",
                arguments=GetParcel,
                side_effect=SideEffect.READ,
                prepare=lambda arguments: {"number": _number(arguments)},
                invoke=self._get,
                needs_credential=True,
            ),
            Operation(
                name="list_parcels",
                arguments=ListParcels,
                side_effect=SideEffect.READ,
                prepare=prepare_list,
                invoke=self._list,
                needs_credential=True,
            ),
            Operation(
                name="book_pickup",
                arguments=BookPickup,
                side_effect=SideEffect.WRITE,
                prepare=prepare_pickup,
                invoke=self._book,
                reconcile=self._was_booked,
                has_native_key=True,
                needs_credential=True,
            ),
        )
        self.operations: Mapping[str, Operation] = {one.name: one for one in operations}

    async def _get(self, invocation: Invocation) -> Output:
        reply = await self.api.ask(invocation, Call(path=path_of("/v2/parcels/{}", invocation.arguments["number"])))
        found = parcel(_inside(reply, "parcel"))
        if found is None:
            malformed(reply)
        return Output(structured=found, receipt="Read one parcel.", attempts=reply.attempts)

    async def _list(self, invocation: Invocation) -> Output:
        given = invocation.arguments
        query = {"state": given["state"], "page": given["page"], "size": PAGE}
        reply = await self.api.ask(invocation, Call(path="/v2/parcels", query=query))
        listed = _inside(reply, "parcels")
        if not isinstance(listed, list):
            malformed(reply)
        found = [one for one in map(parcel, listed) if one is not None]
        cursor = cursor_to(_word(_inside(reply, "next_page")), "list_parcels", given)
        receipt = f"Listed {len(found)} parcels."
        return Output(structured={"parcels": found, "next_cursor": cursor}, receipt=receipt, attempts=reply.attempts)

    async def _book(self, invocation: Invocation) -> Output:
        given = invocation.arguments
        call = Call(
            method="POST",
            path="/v2/pickups",
            json={"number": given["number"], "date": given["date"], "reference": invocation.effect_id},
            headers={"Idempotency-Key": invocation.effect_id},
            has_native_key=True,
        )
        reply = await self.api.ask(invocation, call)
        pickup = _inside(reply, "pickup")
        identity = _word(pickup.get("id")) if isinstance(pickup, dict) else None
        if identity is None:
            malformed(reply)
        return Output(
            structured={"pickup": identity, "number": given["number"], "date": given["date"]},
            receipt=f"Booked a pickup on {given['date']}.",
            attempts=reply.attempts,
        )

    async def _was_booked(self, invocation: Invocation) -> Finding:
        """The vendor keeps our reference with a pickup, and says at once what it has by it."""
        reply = await self.api.ask(invocation, Call(path="/v2/pickups", query={"reference": invocation.effect_id}))
        pickups = _inside(reply, "pickups")
        if not isinstance(pickups, list):
            return Finding.STILL_UNKNOWN
        references = [one.get("reference") for one in pickups if isinstance(one, dict)]
        return Finding.DONE if invocation.effect_id in references else Finding.NOT_DONE


def prepare_list(arguments: dict[str, Any]) -> dict[str, Any]:
    """A page of the parcels in one state, or in any."""
    return with_page("list_parcels", {"state": arguments.get("state"), "cursor": arguments.get("cursor")})


def prepare_pickup(arguments: dict[str, Any]) -> dict[str, Any]:
    """Which parcel, and on which day."""
    try:
        date = dt.date.fromisoformat(arguments["date"]).isoformat()
    except ValueError as error:
        message = "`date` must be a day such as 2026-01-31."
        raise ArgumentProblem(ArgumentIssue(path="/date", rule="date", message=message)) from error
    return {"number": _number(arguments), "date": date}


def judge(reply: Reply) -> AdapterError | None:
    """A fault, whatever the status. One that we know says that nothing was done; any other says nothing of it."""
    code = _fault(reply)
    known = _FAULTS.get(code or "")
    if known is not None:
        return reply.error(*known, happened=Happened.NO)
    if code is not None and reply.status < 300:
        return reply.error(ErrorKind.UNAVAILABLE, "The vendor failed; try again later.", happened=Happened.UNKNOWN)
    return by_status(reply, {})


def pauses(reply: Reply, _now: float) -> Iterator[Pause]:
    """How long nothing is left of the account's quota."""
    left, reset = reply.headers.get("X-Quota-Left"), reply.headers.get("X-Quota-Reset", "")
    if left == "0" and reset.isascii() and reset.isdigit() and len(reset) < 6:
        yield Pause(seconds=float(reset))


def parcel(said: Any) -> dict[str, Any] | None:
    """A parcel as an agent sees it; None when it has no number."""
    if not isinstance(said, dict) or _word(said.get("number")) is None:
        return None
    return {name: _word(said.get(name)) for name in ("number", "state", "place", "expected")}


def _number(arguments: Mapping[str, Any]) -> str:
    number = str(arguments["number"]).replace(" ", "").upper()
    if _NUMBER.fullmatch(number) is None:
        message = "`number` must be two letters and nine digits, such as HM123456789."
        raise ArgumentProblem(ArgumentIssue(path="/number", rule="number", message=message))
    return number


def _fault(reply: Reply) -> str | None:
    fault = _inside(reply, "fault")
    return None if fault is None else str(fault.get("code")) if isinstance(fault, dict) else ""


def _inside(reply: Reply, name: str) -> Any:
    return reply.value.get(name) if isinstance(reply.value, dict) else None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
