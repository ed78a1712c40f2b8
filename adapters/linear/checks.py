"""Reading arguments: each comes out in the one form that policy, the approver and Linear see, or is an issue."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from adapters.base import ArgumentIssue, ArgumentProblem

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]{0,15}-[0-9]{1,9}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Checks:
    """Reads one call's arguments, and remembers what is wrong with them. What was not given is None."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._issues: list[ArgumentIssue] = []

    def value(self, name: str, default: Any = None) -> Any:
        """What the schema has judged already."""
        value = self._arguments.get(name)
        return default if value is None else value

    def id(self, name: str) -> str | None:
        """One of Linear's ids."""
        value = self.value(name)
        return None if value is None else self._id(value, f"/{name}")

    def ids(self, name: str) -> list[str]:
        """Several, each once, in order."""
        found = [self._id(value, f"/{name}/{index}") for index, value in enumerate(self.value(name, []))]
        return sorted(set(found))

    def issue(self, name: str) -> str:
        """An issue's id, or what people call it (`ENG-123`)."""
        value = self.value(name)
        if _IDENTIFIER.fullmatch(value):
            return str(value).upper()
        if not _UUID.fullmatch(value):
            self.problem(f"/{name}", "issue", "Give the issue's id, or its identifier such as ENG-123.")
        return str(value).lower()

    def line(self, name: str) -> str | None:
        """A text on one line, without blanks around it."""
        value = self.value(name)
        if value is None:
            return None
        line = value.strip()
        if not line:
            self.problem(f"/{name}", "blank", "Must not be blank.")
        if any(unicodedata.category(each) in ("Cc", "Cs") for each in line):
            self.problem(f"/{name}", "characters", "Must be one line without control characters.")
        return str(line)

    def text(self, name: str) -> str | None:
        """A text with every line break as one line feed."""
        value = self.value(name)
        if value is None:
            return None
        written = str(value).replace("\r\n", "\n").replace("\r", "\n")
        if not written.strip():
            self.problem(f"/{name}", "blank", "Must not be blank.")
        if any(unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t" for each in written):
            self.problem(f"/{name}", "characters", "Must not hold control characters.")
        return written

    def date(self, name: str) -> str | None:
        """A day (`2026-05-31`)."""
        value = self.value(name)
        if value is None:
            return None
        try:
            is_date = bool(_DATE.fullmatch(value) and date.fromisoformat(value))
        except ValueError:
            is_date = False
        if not is_date:
            self.problem(f"/{name}", "date", "Give a day as YYYY-MM-DD.")
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
        return moment.isoformat(timespec="seconds")

    def problem(self, path: str, rule: str, message: str) -> None:
        """Note an issue."""
        self._issues.append(ArgumentIssue(path=path, rule=rule, message=message))

    def passed(self, prepared: dict[str, Any]) -> dict[str, Any]:
        """What was prepared, when nothing was wrong. Raises `ArgumentProblem` with every issue else."""
        if self._issues:
            raise ArgumentProblem(*self._issues)
        return prepared

    def _id(self, value: str, path: str) -> str:
        if not _UUID.fullmatch(value):
            self.problem(path, "uuid", "This is no id of Linear's; the tools that list and get things tell ids.")
        return str(value).lower()


def _moment(text: str) -> datetime | None:
    """In UTC; None for what is no moment, or has no offset."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
