"""A Google Calendar of our own, where no server that others wrote does the same: versions, patches, deleted events."""

from typing import Any

from fakes.vendor import Asked, Said

_ERRORS = {"notFound": 404, "conditionNotMet": 412, "deleted": 410, "duplicate": 409}


def _error(reason: str) -> Said:
    status = _ERRORS[reason]
    entry = {"domain": "global", "reason": reason, "message": reason}
    return Said({"error": {"errors": [entry], "code": status, "message": reason}}, status=status)


def _patched(value: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """RFC 7386, which is how Google patches: a null takes away, an object goes into the one that is there."""
    result = dict(value)
    for name, new in patch.items():
        old = result.get(name)
        if new is None:
            result.pop(name, None)
        elif isinstance(new, dict):
            result[name] = _patched(old if isinstance(old, dict) else {}, new)
        else:
            result[name] = new
    return result


class GoogleCalendar:
    """The calendar `primary`. `mails` holds what `sendUpdates` was with each change."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.events = {each["id"]: dict(each) for each in events}
        self.mails: list[str] = []
        self._version = 100

    def answer(self, asked: Asked) -> Said:
        """What it says to a request."""
        place, _, name = asked.path.partition("/calendars/primary/events")[2].partition("/")
        assert place == ""
        if asked.method != "GET":
            self.mails += asked.query["sendUpdates"]
        if not name:
            return self._made(asked.json) if asked.method == "POST" else Said({"items": list(self.events.values())})
        event = self.events.get(name)
        if event is None:
            return _error("notFound")
        if asked.method == "GET":
            return Said(event)
        return self._changed(event, asked)

    def _changed(self, event: dict[str, Any], asked: Asked) -> Said:
        if event["status"] == "cancelled":
            return _error("deleted")
        if asked.headers.get("If-Match", event["etag"]) != event["etag"]:
            return _error("conditionNotMet")
        is_deleted = asked.method == "DELETE"
        self._keep(_patched(event, {"status": "cancelled"} if is_deleted else asked.json))
        return Said(status=204, body=b"") if is_deleted else Said(self.events[event["id"]])

    def _made(self, event: dict[str, Any]) -> Said:
        if event["id"] in self.events:
            return _error("duplicate")
        self._keep({"status": "confirmed", **event})
        return Said(self.events[event["id"]])

    def _keep(self, event: dict[str, Any]) -> None:
        self._version += 1
        self.events[event["id"]] = {**event, "etag": f'"{self._version}"'}
