"""Reading an agent's arguments, for `prepare`: whatever is wrong is noted, and told all at once."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from adapters.base import ArgumentIssue, ArgumentProblem

_BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})
_ODD = _BREAKS | {"Cf", "Co", "Cn"}
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Fields:
    """One call's arguments. What is returned of an argument that is wrong is of no use: call `checked` at the end."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._issues: list[ArgumentIssue] = []

    def issue(self, path: str, rule: str, message: str) -> None:
        """One thing is wrong: a JSON Pointer, the rule's name, a sentence for the agent."""
        self._issues.append(ArgumentIssue(path=path, rule=rule, message=message))

    def checked(self, prepared: dict[str, Any]) -> dict[str, Any]:
        """What was prepared. Raises `ArgumentProblem` with everything that is wrong."""
        if self._issues:
            raise ArgumentProblem(*self._issues)
        return prepared

    def matching(self, name: str, form: re.Pattern[str], what: str) -> str:
        """An argument of one form; `what` says in words which."""
        text = str(self._arguments[name])
        if not form.fullmatch(text):
            self.issue(f"/{name}", "format", f"`{name}` must be {what}.")
        return text

    def optional(self, name: str, form: re.Pattern[str], what: str) -> str | None:
        """The same; None when it was not given."""
        return None if self._arguments.get(name) is None else self.matching(name, form, what)

    def limit(self, usual: int, most: int) -> int:
        """How many items a page has: the argument `limit`."""
        limit = self._arguments.get("limit")
        if limit is None:
            return usual
        if not 1 <= limit <= most:
            self.issue("/limit", "range", f"`limit` must be from 1 to {most}.")
        return int(limit)

    def readable(self, name: str, text: str) -> str:
        """A text with something in it, every character of which can be sent."""
        if not text.strip():
            self.issue(f"/{name}", "min_length", f"`{name}` holds nothing that can be read.")
        return self.sendable(name, text)

    def value(self, name: str, default: Any = None) -> Any:
        """An argument that the schema has judged; the default when it was not given."""
        value = self._arguments.get(name)
        return default if value is None else value

    def one_line(self, text: str, path: str) -> str:
        """A text on one line with something in it, as it stands."""
        if not text.strip():
            self.issue(path, "blank", "Must not be blank.")
        if is_broken(text):
            self.issue(path, "characters", "Must be one line without control characters.")
        return text

    def moment(self, name: str) -> str | None:
        """A moment with its offset, as ISO 8601 in UTC; None when it was not given."""
        value = self.value(name)
        moment = None if value is None else _moment(value)
        if value is not None and moment is None:
            self.issue(f"/{name}", "date_time", "Give a moment with its offset, such as 2026-05-31T09:00:00Z.")
        return None if moment is None else moment.isoformat(timespec="milliseconds")

    def sendable(self, name: str, text: str) -> str:
        """A text without NUL and without halves of characters."""
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            self.issue(f"/{name}", "characters", f"`{name}` holds a character that cannot be sent.")
        return text


def is_broken(text: str) -> bool:
    """Whether a text holds control characters, breaks of lines, or half a character."""
    return any(unicodedata.category(each) in _BREAKS for each in text)


def is_odd(text: str) -> bool:
    """The same, or characters that nobody sees and that change how it reads."""
    return any(unicodedata.category(each) in _ODD for each in text)


def is_date(text: str) -> bool:
    """Whether a text is a day that there is, as YYYY-MM-DD."""
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
