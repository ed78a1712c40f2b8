"""Reading arguments: each comes out in the one form that policy, the approver and PostHog see, or is an issue."""

import re
from collections.abc import Mapping
from typing import Any

from adapters.transport.fields import UUID, Fields, is_date

_AGO = re.compile(r"-[1-9][0-9]{0,2}[hdwmy]")
_VALUELESS = frozenset({"is_set", "is_not_set"})


class Checks(Fields):
    """Reads one call's arguments, and remembers what is wrong with them. What was not given is None."""

    def line(self, name: str) -> str | None:
        """A name or another text on one line, as it stands."""
        value = self.value(name)
        return None if value is None else self.one_line(str(value), f"/{name}")

    def day(self, name: str, default: str | None = None) -> str | None:
        """A day, or how long ago (`-30d`)."""
        value = self.value(name, default)
        if value is not None and not _AGO.fullmatch(value) and not is_date(value):
            self.issue(f"/{name}", "date", "Give a day as YYYY-MM-DD, or how long ago as -30d (h, d, w, m or y).")
        return None if value is None else str(value)

    def uuid(self, name: str) -> str | None:
        """A UUID in lower case."""
        value = self.value(name)
        if value is not None and not UUID.fullmatch(value):
            self.issue(f"/{name}", "uuid", "This is no id of a person; the tool that lists persons tells ids.")
        return None if value is None else str(value).lower()

    def filters(self, name: str) -> list[dict[str, Any]]:
        """Conditions on properties."""
        return [self._filter(one, f"/{name}/{index}") for index, one in enumerate(self.value(name, []))]

    def _filter(self, one: Mapping[str, Any], path: str) -> dict[str, Any]:
        if not isinstance(one, Mapping):
            self.issue(path, "type", "A condition has a property, an operator and a value.")
            return {}
        value = one.get("value")
        if (value is None) != (one["operator"] in _VALUELESS):
            self.issue(f"{path}/value", "value", "Give a value, but none for is_set and is_not_set.")
        return {
            "property": self.one_line(one["property"], f"{path}/property"),
            "of": one.get("of") or "event",
            "operator": one["operator"],
            "value": None if value is None else self.one_line(value, f"{path}/value"),
        }
