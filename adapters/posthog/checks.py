"""Reading arguments: each comes out in the one form that policy, the approver and PostHog see, or is an issue."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from adapters.base import ArgumentIssue, ArgumentProblem

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AGO = re.compile(r"-[1-9][0-9]{0,2}[hdwmy]")
_VALUELESS = frozenset({"is_set", "is_not_set"})


class Checks:
    """Reads one call's arguments, and remembers what is wrong with them. What was not given is None."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._issues: list[ArgumentIssue] = []

    def value(self, name: str, default: Any = None) -> Any:
        """What the schema has judged already."""
        value = self._arguments.get(name)
        return default if value is None else value

    def line(self, name: str) -> str | None:
        """A name or another text on one line, as it stands."""
        value = self.value(name)
        return None if value is None else self.one_line(value, f"/{name}")

    def one_line(self, value: str, path: str) -> str:
        """The same of a value that stands elsewhere."""
        if not value.strip():
            self.problem(path, "blank", "Must not be blank.")
        if any(unicodedata.category(each) in ("Cc", "Cs") for each in value):
            self.problem(path, "characters", "Must be one line without control characters.")
        return value

    def day(self, name: str, default: str | None = None) -> str | None:
        """A day, or how long ago (`-30d`)."""
        value = self.value(name, default)
        if value is None or _AGO.fullmatch(value):
            return value if value is None else str(value)
        if not _is_date(value):
            self.problem(f"/{name}", "date", "Give a day as YYYY-MM-DD, or how long ago as -30d (h, d, w, m or y).")
        return str(value)

    def moment(self, name: str) -> str | None:
        """A moment with its offset, in UTC."""
        value = self.value(name)
        if value is None:
            return None
        moment = _moment(value)
        if moment is None:
            self.problem(f"/{name}", "date_time", "Give a moment with its offset, such as 2026-05-31T09:00:00Z.")
            return None
        return moment.isoformat(timespec="milliseconds")

    def uuid(self, name: str) -> str | None:
        """A UUID in lower case."""
        value = self.value(name)
        if value is None:
            return None
        if not _UUID.fullmatch(value):
            self.problem(f"/{name}", "uuid", "This is no id of a person; the tool that lists persons tells ids.")
        return str(value).lower()

    def filters(self, name: str) -> list[dict[str, Any]]:
        """Conditions on properties."""
        return [self._filter(one, f"/{name}/{index}") for index, one in enumerate(self.value(name, []))]

    def problem(self, path: str, rule: str, message: str) -> None:
        """Note an issue."""
        self._issues.append(ArgumentIssue(path=path, rule=rule, message=message))

    def passed(self, prepared: dict[str, Any]) -> dict[str, Any]:
        """What was prepared, when nothing was wrong. Raises `ArgumentProblem` with every issue else."""
        if self._issues:
            raise ArgumentProblem(*self._issues)
        return prepared

    def _filter(self, one: Mapping[str, Any], path: str) -> dict[str, Any]:
        if not isinstance(one, Mapping):
            self.problem(path, "type", "A condition has a property, an operator and a value.")
            return {}
        value = one.get("value")
        if (value is None) != (one["operator"] in _VALUELESS):
            self.problem(f"{path}/value", "value", "Give a value, but none for is_set and is_not_set.")
        return {
            "property": self.one_line(one["property"], f"{path}/property"),
            "of": one.get("of") or "event",
            "operator": one["operator"],
            "value": None if value is None else self.one_line(value, f"{path}/value"),
        }


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def _moment(text: str) -> datetime | None:
    """In UTC; None for what is no moment, or has no offset."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
