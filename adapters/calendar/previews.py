"""What an approver is shown: an event before and after."""

from collections.abc import Mapping
from typing import Any

_SHOWN = ("summary", "start", "end", "attendee_count", "is_series", "status")


def of_update(was: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked to change. `is_current` is false when the event is not the version any more that was seen."""
    about = {"event": was["summary"], "is_series": was["is_series"], "is_current": was["etag"] == asked["etag"]}
    before = {**was, "attendees": [each["address"] for each in was["attendees"]]}
    return {
        "was": {**about, **{name: before[name] for name in _touched(asked)}},
        "will_be": {**about, **{name: asked[name] for name in _touched(asked)}},
    }


def of_cancel(was: Mapping[str, Any]) -> dict[str, Any]:
    """The event that would be gone."""
    shown = {name: was[name] for name in _SHOWN}
    return {"was": shown, "will_be": {**shown, "status": "cancelled"}}


def _touched(asked: Mapping[str, Any]) -> list[str]:
    times = ("start", "end", "time_zone", "is_all_day")
    return [part for name in asked["changes"] for part in (times if name == "start" else (name,))]
