"""A row's options, read strictly: whatever is wrong is noted with its place, and told all at once."""

import math
from collections.abc import Mapping
from typing import Any

from adapters.base import ArgumentIssue
from adapters.http_api.pointers import escaped

MAX_DEPTH = 32
MAX_PARTS = 256
"""Fields of one body, query or head."""
_MAX_WHOLE = 2**53 - 1
Issues = list[ArgumentIssue]


class Part:
    """One object of the options, at `path`. What is asked for and is not there, or is no such thing, is noted."""

    def __init__(self, raw: Mapping[str, Any], path: str, issues: Issues) -> None:
        self.raw = raw
        self.path = path
        self.issues = issues

    def problem(self, name: str | None, rule: str, message: str) -> None:
        """Note that something is wrong with what stands under this name; with all of it when that is None."""
        path = self.path if name is None else f"{self.path}/{escaped(name)}"
        self.issues.append(ArgumentIssue(path=path, rule=rule, message=message))

    def has(self, name: str) -> bool:
        """Whether something stands there."""
        return name in self.raw

    def only(self, *names: str) -> None:
        """Nothing but these may stand here."""
        for name in self.raw:
            if name not in names:
                known = ", ".join(names)
                self.problem(str(name), "unknown", f"{str(name)[:64]!r} is not known here; known are {known}.")

    def text(self, name: str, default: str = "") -> str:
        """A text that is not empty; the default when there is none, which is noted unless there is a default."""
        value = self.raw.get(name, default)
        if not isinstance(value, str) or not value:
            self.problem(name, "text", f"`{name}` must be a text that is not empty.")
            return default
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str = "") -> str:
        """One of these texts."""
        value = self.raw.get(name, default)
        if not isinstance(value, str) or value not in choices:
            self.problem(name, "choice", f"`{name}` must be one of {', '.join(choices)}.")
            return default
        return value

    def part(self, name: str) -> "Part":
        """An object; an empty one when there is none. Of what is no object, nothing more is noted than that."""
        value = self.raw.get(name, {})
        path = f"{self.path}/{escaped(name)}"
        if isinstance(value, Mapping):
            return Part(value, path, self.issues)
        self.problem(name, "object", f"`{name}` must be an object.")
        return Part({}, path, [])

    def parts(self) -> list[tuple[str, "Part"]]:
        """Every object in this one, by name. A name that is no text is noted."""
        if len(self.raw) > MAX_PARTS:
            self.problem(None, "many", f"There may be at most {MAX_PARTS} of them.")
            return []
        for name in self.raw:
            if not isinstance(name, str):
                self.problem(str(name), "text", "A name must be a text; put it in quotes.")
        return [(name, self.part(name)) for name in self.raw if isinstance(name, str)]


def plain_json(value: Any, depth: int = 0) -> Any:
    """A copy of a JSON value of a row, of nothing but dicts, lists, texts and numbers.

    Raises ValueError for what JSON cannot hold, such as a date of YAML, or what others would read otherwise, such as a
    number beyond 2^53.
    """
    if depth > MAX_DEPTH:
        raise ValueError("is nested too deeply")
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {plain_json(name): plain_json(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one, depth + 1) for one in value]
    if isinstance(value, str):
        value.encode()  # half a character raises UnicodeEncodeError, which is a ValueError
        return value
    is_number = isinstance(value, int | float) and abs(value) <= _MAX_WHOLE and math.isfinite(value)
    if value is None or isinstance(value, bool) or is_number:
        return value
    raise ValueError("is not a JSON value; put dates and large numbers in quotes")
