"""What a request carries: JSON or a form, made of arguments and literals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson

from adapters.base import ArgumentIssue
from adapters.http_api.fields import Field, read_fields
from adapters.http_api.options import Issues, Part
from adapters.http_api.pointers import ABSENT, escaped
from adapters.http_api.shapes import Shapes
from adapters.http_api.sources import ANYTHING, Source, read_source
from adapters.http_api.texts import is_whole_unicode

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
_UNSENDABLE = "Holds a character or a number that cannot be sent."


@dataclass(frozen=True, slots=True)
class Content:
    """JSON: one value as it stands."""

    source: Source
    kind: str = JSON_TYPE

    @property
    def sources(self) -> list[Source]:
        """Where it comes from."""
        return [self.source]

    def written(self, arguments: Mapping[str, Any], issues: Issues) -> bytes | None:
        """The body; None when its argument is absent. What cannot be sent is noted."""
        value = self.source.take(arguments)
        return None if value is ABSENT else _dumped(value, self.source.pointer, issues)


@dataclass(frozen=True, slots=True)
class Members:
    """JSON: an object, member by member. An absent argument is left out, a null is a null."""

    members: tuple[tuple[str, Source], ...]
    kind: str = JSON_TYPE

    @property
    def sources(self) -> list[Source]:
        """Where its members come from."""
        return [source for _, source in self.members]

    def written(self, arguments: Mapping[str, Any], issues: Issues) -> bytes | None:
        """The body. What cannot be sent is noted."""
        taken = [(name, source, source.take(arguments)) for name, source in self.members]
        try:
            return orjson.dumps({name: value for name, _, value in taken if value is not ABSENT})
        except orjson.JSONEncodeError:
            for _, source, value in taken:
                _dumped(None if value is ABSENT else value, source.pointer, issues)
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """A form, with a list as one field for each of its items."""

    fields: tuple[Field, ...]
    kind: str = FORM_TYPE

    @property
    def sources(self) -> list[Source]:
        """Where its fields come from."""
        return [one.source for one in self.fields]

    def written(self, arguments: Mapping[str, Any], issues: Issues) -> bytes | None:
        """The body. What cannot be sent is noted."""
        return urlencode([(one.name, text) for one in self.fields for text in one.texts(arguments, issues)]).encode()


Body = Content | Members | Form


def read_body(part: Part, shapes: Shapes) -> Body | None:
    """The body that an object says; None when what is wrong with it leaves none, which is noted."""
    kind = part.choice("type", ("json", "form"))
    part.only("type", "fields", *(() if kind == "form" else ("content",)))
    if not kind:
        return None
    if kind == "form":
        return Form(read_fields(part.part("fields"), shapes, has_style=False))
    if part.has("fields") == part.has("content"):
        part.problem(None, "body", "A body of JSON has either `fields`, by name, or `content`, one value.")
        return None
    if part.has("content"):
        source = read_source(part.part("content"), shapes, ANYTHING)
        return None if source is None else Content(source)
    fields = part.part("fields")
    sources = [(name, read_source(one, shapes, ANYTHING)) for name, one in fields.parts()]
    for name, _ in sources:
        if not is_whole_unicode(name):
            fields.problem(name, "name", "A name must not hold half a character.")
    return Members(tuple((name, source) for name, source in sources if source is not None))


def _dumped(value: Any, pointer: str, issues: Issues) -> bytes:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        issues.append(ArgumentIssue(path=_culprit(value, pointer), rule="json", message=_UNSENDABLE))
        return b""


def _culprit(value: Any, pointer: str) -> str:
    """Where in a value the first thing is that cannot be written."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for name, part in parts:
        try:
            orjson.dumps(part)
        except orjson.JSONEncodeError:
            return _culprit(part, f"{pointer}/{escaped(str(name))}")
    return pointer
