"""Reading an agent's arguments, for `prepare`: whatever is wrong is noted, and told all at once."""

import re
from collections.abc import Mapping
from typing import Any

from adapters.base import ArgumentIssue, ArgumentProblem


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

    def sendable(self, name: str, text: str) -> str:
        """A text without NUL and without halves of characters."""
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            self.issue(f"/{name}", "characters", f"`{name}` holds a character that cannot be sent.")
        return text
