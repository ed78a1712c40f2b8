"""A path with slots for arguments, each of which stays where it is whatever an argument holds."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from adapters.base import ArgumentIssue
from adapters.http_api.options import Issues, Part
from adapters.http_api.pointers import escaped
from adapters.http_api.shapes import SCALARS, Shapes
from adapters.http_api.texts import text_of

_SLOT = re.compile(r"\{(\+?)([^{}]+)\}")
_LITERAL = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
"""What is escaped already and leads nowhere else, as nearly every name does."""

_ODD_SPELLINGS = re.compile(r"%u([0-9a-fA-F]{4})|%c0%(ae|af)|%e0%80%(ae|af)", re.IGNORECASE)
_SLASHES = str.maketrans(dict.fromkeys("\\\u2044\u2215\u2216\u29f5\u29f8\u29f9\ufe68", "/"))
_MOST_DECODINGS = 8
MAX_PLACE = 1500
"""Characters of the path and the query; the rest of what a URL may have is for the base URL."""

_CLIMBS = "Must not lead to another place at the service: no part of it between slashes may be only dots."
_EMPTY = "Must name something: it must not be empty, and no part of it between slashes may be."
_CHARACTERS = "Must not hold a control character."
_SCALAR = "Must be a text, a number or a truth."
_LONG = f"Must be shorter: an address has at most {MAX_PLACE} characters."


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an argument goes: one segment, or as many as it has slashes."""

    name: str
    is_several: bool


@dataclass(frozen=True, slots=True)
class Template:
    """A path as a row says it, taken apart once."""

    text: str
    parts: tuple[str | Slot, ...]

    def fill(self, arguments: Mapping[str, Any], issues: Issues) -> str:
        """The path, escaped. Whatever does not fit is noted in `issues`; the path is of no use then, nor is one that is
        longer than `MAX_PLACE`.
        """
        written, raw, odd, before = [], [], "", len(issues)
        for part in self.parts:
            if isinstance(part, str):
                written.append(part)
                raw.append(unquote(part))
                continue
            text = _text(part, arguments.get(part.name), issues)
            raw.append(text)
            if _PLAIN.fullmatch(text):
                written.append(text)
                continue
            odd = odd or _pointer(part)
            written.append("/".join(map(_quoted, text.split("/"))) if part.is_several else _quoted(text))
        whole = "".join(raw) if odd and len(issues) == before else ""
        if len(whole) <= MAX_PLACE and leads_elsewhere(whole):  # with what stands beside it
            issues.append(ArgumentIssue(path=odd, rule="path", message=_CLIMBS))
        return "".join(written)


def read_template(part: Part, name: str, shapes: Shapes) -> Template:
    """The template under this name. What is wrong with it is noted."""
    text = part.text(name)
    parts = tuple(_parts(text))
    literal = "".join("x" if isinstance(one, Slot) else one for one in parts)
    if text and not (text.startswith("/") and _LITERAL.fullmatch(literal)):
        message = (
            "The path must begin with a slash and hold nothing but what may stand in a path as it is, and slots: "
            "{NAME} for one segment, {+NAME} for several. A query has its own key."
        )
        part.problem(name, "path", message)
    elif len(text) > MAX_PLACE or not text.isprintable():
        part.problem(name, "path", f"The path must be printable, with at most {MAX_PLACE} characters.")
    elif "//" in literal or leads_elsewhere(literal):
        part.problem(name, "path", "The path must not hold an empty segment, a control character, `.` or `..`.")
    for slot in dict.fromkeys(one for one in parts if isinstance(one, Slot)):
        _check_slot(part, name, shapes, slot)
    return Template(text, parts)


def leads_elsewhere(text: str) -> bool:
    """Whether a part between slashes is only dots, or holds a control character, in any spelling that some server may
    read so: escaped once or more, full-width, with a backslash for a slash, with parameters behind it.
    """
    text = _decoded(text)
    if any(unicodedata.category(each) == "Cc" for each in text):
        return True
    shown = "".join(each for each in text if unicodedata.category(each) not in ("Cf", "Zs", "Zl", "Zp"))
    heads = (piece.partition(";")[0] for piece in shown.translate(_SLASHES).split("/"))
    return any(head and not head.strip(".") for head in heads)


def _decoded(text: str) -> str:
    """Without a single escape. What is escaped again and again comes back with a control character in it."""
    for _ in range(_MOST_DECODINGS):
        odd = _ODD_SPELLINGS.sub(_odd, text)
        decoded = unicodedata.normalize("NFKC", unquote(odd))
        if decoded == text:
            return text
        text = decoded
    return "\0"


def _odd(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return "." if (match[2] or match[3]).lower() == "ae" else "/"


def _parts(text: str) -> list[str | Slot]:
    parts: list[str | Slot] = []
    end = 0
    for match in _SLOT.finditer(text):
        if match.start() > end:
            parts.append(text[end : match.start()])
        parts.append(Slot(match[2], is_several=bool(match[1])))
        end = match.end()
    return [*parts, text[end:]] if end < len(text) else parts


def _check_slot(part: Part, name: str, shapes: Shapes, slot: Slot) -> None:
    types = shapes.types(shapes.at((slot.name,)))
    wanted = frozenset({"string"}) if slot.is_several else SCALARS
    if not shapes.at((slot.name,)):
        part.problem(name, "missing", f"The tool's input schema has no argument `{slot.name}`.")
    elif not shapes.is_always_there(slot.name):
        part.problem(
            name, "required", f"The argument `{slot.name}` is in the path, so the input schema must require it."
        )
    elif not types or not types <= wanted:
        words = "a text" if slot.is_several else "a text, a number or a truth"
        part.problem(name, "type", f"The argument `{slot.name}` is in the path, so its schema must say it is {words}.")


def _text(slot: Slot, value: Any, issues: Issues) -> str:
    text = text_of(value)
    issue = _issue(slot, text)
    if issue is not None:
        issues.append(ArgumentIssue(path=_pointer(slot), rule=issue[0], message=issue[1]))
        return "x"
    assert text is not None
    return text


def _issue(slot: Slot, text: str | None) -> tuple[str, str] | None:
    if text is None:
        return "type", _SCALAR
    if len(text) > MAX_PLACE:  # before anything is done that takes its time
        return "max_length", _LONG
    if _PLAIN.fullmatch(text):
        return None
    if not all(one.strip() for one in (text.split("/") if slot.is_several else (text,))):
        return "min_length", _EMPTY
    if any(unicodedata.category(each) == "Cc" for each in text):
        return "characters", _CHARACTERS
    return ("path", _CLIMBS) if leads_elsewhere(text) else None


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _pointer(slot: Slot) -> str:
    return f"/{escaped(slot.name)}"
