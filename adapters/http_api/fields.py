"""The parts of a request that hold texts: parameters of a query, headers, fields of a form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adapters.base import ArgumentIssue
from adapters.http_api.names import MAX_CHARACTERS, alike, is_value, read_name
from adapters.http_api.options import Issues, Part
from adapters.http_api.pointers import ABSENT
from adapters.http_api.shapes import Shapes
from adapters.http_api.sources import TEXT, TEXTS, Source, read_source
from adapters.http_api.texts import text_of

Style = Literal["repeat", "comma"]
_MAX_NAME = 256


@dataclass(frozen=True, slots=True)
class Field:
    """A name with one value, or several of them."""

    name: str
    source: Source
    style: Style = "repeat"

    def texts(self, arguments: Mapping[str, Any], issues: Issues) -> list[str]:
        """The values as they go out; none for an argument that is absent or null."""
        value = self.source.take(arguments)
        if value is ABSENT or value is None:
            return []
        if not isinstance(value, list):
            return [self._text(value, self.source.pointer, issues)]
        texts = [self._text(one, f"{self.source.pointer}/{at}", issues) for at, one in enumerate(value)]
        return [",".join(texts)] if texts and self.style == "comma" else texts

    def _text(self, value: Any, pointer: str, issues: Issues) -> str:
        text = text_of(value)
        if text is None:
            issues.append(ArgumentIssue(path=pointer, rule="type", message="Must be a text, a number or a truth."))
        elif self.style == "comma" and "," in text:
            issues.append(ArgumentIssue(path=pointer, rule="comma", message="Must not hold a comma."))
        return text or ""


@dataclass(frozen=True, slots=True)
class Header:
    """A header with one value."""

    name: str
    source: Source

    def text(self, arguments: Mapping[str, Any], issues: Issues) -> str | None:
        """The value as it goes out; None for an argument that is absent or null."""
        value = self.source.take(arguments)
        if value is ABSENT or value is None:
            return None
        text = text_of(value)
        if text is None or not is_value(text):
            message = (
                f"Must be one line of printable ASCII without blanks at its ends, of at most {MAX_CHARACTERS} "
                "characters, because it goes into a header."
            )
            issues.append(ArgumentIssue(path=self.source.pointer, rule="header", message=message))
        return text


def read_fields(part: Part, shapes: Shapes, *, has_style: bool) -> tuple[Field, ...]:
    """The fields that an object says, by name. What is wrong with them is noted."""
    fields = []
    for name, one in part.parts():
        if not name or len(name) > _MAX_NAME or not name.isprintable():
            part.problem(name, "name", "A name must be printable, and not empty.")
        style = one.choice("style", ("repeat", "comma"), "repeat") if has_style else "repeat"
        source = read_source(one, shapes, TEXTS, *(("style",) if has_style else ()))
        if source is None:
            continue
        field = Field(name, source, "comma" if style == "comma" else "repeat")
        fields.append(field)
        if source.tokens is None:
            _check_literal(one, field)
        if one.has("style") and not _may_be_list(source, shapes):
            one.problem("style", "style", "Only a list has a style; leave it out.")
    return tuple(fields)


def _check_literal(part: Part, field: Field) -> None:
    """What every call would be refused for is the row's problem."""
    issues: Issues = []
    field.texts({}, issues)
    for issue in issues:
        part.problem("value", issue.rule, issue.message)


def _may_be_list(source: Source, shapes: Shapes) -> bool:
    if source.tokens is None:
        return isinstance(source.value, list)
    types = shapes.types(shapes.at(source.tokens))
    return not types or "array" in types


def read_headers(part: Part, shapes: Shapes) -> tuple[Header, ...]:
    """The headers that an object says, by name. What is wrong with them is noted."""
    headers: dict[str, Header] = {}
    for name, one in part.parts():
        written = read_name(part, name, name, is_argument=one.has("argument"))
        source = read_source(one, shapes, TEXT)
        if alike(written) in map(alike, headers):
            part.problem(name, "twice", "This header is set twice.")
        if source is None or not written:
            continue
        if source.tokens is None and not is_value(text_of(source.value) or "\n"):
            one.problem("value", "header", "A header's value must be one line of printable ASCII.")
        headers[written] = Header(written, source)
    return tuple(headers.values())
