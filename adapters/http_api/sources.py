"""Where a value of a request comes from: an argument of the call, or the row itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.http_api.options import Part, plain_json
from adapters.http_api.pointers import Tokens, find, split
from adapters.http_api.shapes import SCALARS, Shapes, Types

_NOT_JSON = "must be a JSON value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An argument (`pointer`), or else a literal of the row (`value`)."""

    pointer: str = ""
    tokens: Tokens | None = None
    """Of the pointer; None for a literal."""
    value: Any = field(default=None, repr=False)

    def take(self, arguments: Mapping[str, Any]) -> Any:
        """The value; `ABSENT` for an argument that is not there."""
        return self.value if self.tokens is None else find(arguments, self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What may come from a source in one place of a request."""

    types: Types
    items: Types = frozenset()
    """Of a list's items, where a list may come; empty where none may."""
    words: str


TEXT = Wanted(types=SCALARS, words="a text, a number or a truth")
TEXTS = Wanted(types=SCALARS, items=SCALARS, words="a text, a number or a truth, or a list of those")
ANYTHING = Wanted(types=frozenset(), words="anything")


def read_source(part: Part, shapes: Shapes, wanted: Wanted, *others: str) -> Source | None:
    """The source that an object says, which is `{value: X}` or `{argument: POINTER}` and holds nothing but `others`
    beside; None when it says none, which is noted.
    """
    part.only("value", "argument", *others)
    if part.has("value") == part.has("argument"):
        part.problem(
            None, "source", "Must hold either `value`, a literal, or `argument`, a pointer into the arguments."
        )
        return None
    return _literal(part, wanted) if part.has("value") else _argument(part, shapes, wanted)


def _literal(part: Part, wanted: Wanted) -> Source | None:
    try:
        value = plain_json(part.raw["value"])
    except ValueError as error:
        message = str(error) if not isinstance(error, UnicodeError) else "holds half a character"
        part.problem("value", "json", f"The literal {message}.")
        return None
    if wanted is not ANYTHING and not _is_fit(value, wanted):
        part.problem("value", "type", f"What stands here must be {wanted.words}.")
        return None
    return Source(value=value)


def _argument(part: Part, shapes: Shapes, wanted: Wanted) -> Source | None:
    pointer = part.raw["argument"]
    tokens = split(pointer)
    if tokens is None:
        part.problem("argument", "pointer", "Must be a JSON Pointer into the arguments, such as /page.")
        return None
    schemas = shapes.at(tokens)
    if not schemas:
        message = "The tool's input schema has no such argument; describe it there, or correct the pointer."
        part.problem("argument", "missing", message)
        return None
    if wanted is not ANYTHING and not (tokens and _may_fit(shapes, schemas, wanted)):
        part.problem("argument", "type", f"What the input schema lets in here must be {wanted.words}.")
        return None
    return Source(pointer=pointer, tokens=tokens)


def _is_fit(value: Any, wanted: Wanted) -> bool:
    if isinstance(value, list):
        return bool(wanted.items) and all(_is_scalar(one) for one in value)
    return _is_scalar(value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _may_fit(shapes: Shapes, schemas: list[Mapping[str, Any]], wanted: Wanted) -> bool:
    """What a schema does not speak of may fit: the call's argument is looked at again."""
    types = shapes.types(schemas) - {"null"}
    if not types <= wanted.types | ({"array"} if wanted.items else set()):
        return False
    return "array" not in types or shapes.types(shapes.items(schemas)) <= wanted.items
