"""What Google is sent of prepared arguments."""

from collections.abc import Mapping
from typing import Any

from adapters.calendar.marks import event_id, mark

_SEND_UPDATES = {"all": "all", "external_only": "externalOnly", "none": "none"}


def updates(asked: Mapping[str, Any]) -> dict[str, str]:
    """Who gets mail about it; always said, for Google's own default is not to be relied on."""
    return {"sendUpdates": _SEND_UPDATES[asked["send_updates"]]}


def new_event(asked: Mapping[str, Any], effect_id: str) -> dict[str, Any]:
    """An event under the effect's own id."""
    body = {"id": event_id(effect_id), **_texts(asked), **mark(effect_id)}
    body |= {name: _when(asked, asked[name]) for name in ("start", "end")}
    if asked["attendees"]:
        body["attendees"] = [{"email": address} for address in asked["attendees"]]
    return body


def changed_event(
    asked: Mapping[str, Any], effect_id: str, attendees: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """What a patch says. An event that becomes one of whole days, or the other way round, loses what it had before."""
    other = {"dateTime": None, "timeZone": None} if asked["is_all_day"] else {"date": None}
    body = {**_texts(asked), **mark(effect_id)}
    if asked["start"] is not None:
        body |= {name: {**other, **_when(asked, asked[name])} for name in ("start", "end")}
    return body if attendees is None else {**body, "attendees": attendees}


def wanted_attendees(event: Mapping[str, Any], addresses: list[str]) -> list[dict[str, Any]]:
    """The list as it shall be. Who is on it already stays as they are: a bare address would take back their answer."""
    known = event.get("attendees")
    entries = [each for each in (known if isinstance(known, list) else []) if isinstance(each, dict)]
    there = {str(each.get("email")).lower(): each for each in entries}
    return [there.get(address, {"email": address}) for address in addresses]


def _texts(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: asked[name] for name in ("summary", "description", "location") if asked[name] is not None}


def _when(asked: Mapping[str, Any], text: str) -> dict[str, Any]:
    if asked["is_all_day"]:
        return {"date": text}
    return {"dateTime": text} if asked["time_zone"] is None else {"dateTime": text, "timeZone": asked["time_zone"]}
