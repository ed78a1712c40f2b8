"""What a message is made of, from the server's BODYSTRUCTURE. What is nested without end is cut, never followed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from adapters.email.charsets import decoded
from adapters.email.headers import one_line, shown
from adapters.email.imap.grammar import Value

MAX_DEPTH = 12
MAX_PARTS = 100
MAX_TEXTS = 8
"""How many parts of text are read."""
MAX_FILENAME = 200
_READ = ("text/plain", "text/html")
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part that is no multipart. `size` is in bytes as it is sent, encoded."""

    section: str
    kind: str
    charset: str
    encoding: str
    size: int
    filename: str | None = field(repr=False)
    is_attachment: bool

    @property
    def decoded_size(self) -> int:
        """About how many bytes there are once it is decoded."""
        return self.size * 57 // 78 if self.encoding == "base64" else self.size


@dataclass(frozen=True, slots=True)
class Structure:
    """The parts to read as text, in their order; those that are files; and whether there are more than were taken."""

    texts: tuple[Part, ...]
    files: tuple[Part, ...]
    is_cut: bool


def read_structure(value: Value) -> Structure:
    """The parts of a message. What does not keep to the grammar is left out."""
    walk = _Walk()
    texts = walk.texts(value, "", 0)
    chosen = tuple(texts[:MAX_TEXTS])
    files = tuple(part for part in walk.parts if part not in texts and _is_file(part))
    return Structure(chosen, files, walk.is_cut or len(texts) > MAX_TEXTS)


def _is_file(part: Part) -> bool:
    return part.is_attachment or part.filename is not None or part.kind not in _READ


class _Walk:
    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.is_cut = False

    def texts(self, value: Value, section: str, depth: int) -> list[Part]:
        """The parts below that are to be read as text; every part is noted."""
        if not isinstance(value, list) or not value:
            return []
        if depth > MAX_DEPTH or len(self.parts) >= MAX_PARTS:
            self.is_cut = True
            return []
        if not isinstance(value[0], list):
            part = _part(value, section or "1")
            self.parts.append(part)
            return [part] if part.kind in _READ and not part.is_attachment else []
        inner = [item for item in value if isinstance(item, list)][: _children(value)]
        found = [
            self.texts(item, f"{section}.{index}" if section else str(index), depth + 1)
            for index, item in enumerate(inner, 1)
        ]
        is_alternative = _word(value, len(inner)) == "alternative"
        return _best(found) if is_alternative else [part for texts in found for part in texts]


def _children(value: Sequence[Value]) -> int:
    """How many parts a multipart has: they stand before its subtype."""
    return next((index for index, item in enumerate(value) if not isinstance(item, list)), len(value))


def _best(alternatives: list[list[Part]]) -> list[Part]:
    """The alternative in plain text; otherwise the first that can be read."""
    readable = [texts for texts in alternatives if any(part.size for part in texts)]
    plain = [texts for texts in readable if all(part.kind == "text/plain" for part in texts)]
    return (plain or readable or [[]])[0]


def _part(value: Sequence[Value], section: str) -> Part:
    kind = f"{_word(value, 0)}/{_word(value, 1)}"
    is_known = all(map(_TYPE.fullmatch, kind.split("/", 1)))
    told = dict(_pairs(value[2] if len(value) > 2 else None))
    at = 9 if kind.startswith("text/") else 11 if kind == "message/rfc822" else 8
    disposition = value[at] if len(value) > at else None
    inner = disposition if isinstance(disposition, list) else []
    named = dict(_pairs(inner[1] if len(inner) > 1 else None))
    size = value[6] if len(value) > 6 else None
    return Part(
        section=section,
        kind=kind if is_known else "application/octet-stream",
        charset=told.get("charset", b"").decode("ascii", "replace")[:40],
        encoding=_word(value, 5),
        size=int(size) if isinstance(size, str) and size.isdigit() and len(size) <= 12 else 0,
        filename=_filename(named) or _filename(told),
        is_attachment=_word(inner, 0) == "attachment",
    )


def _word(value: Sequence[Value], index: int) -> str:
    word = value[index] if len(value) > index else None
    text = word.decode("ascii", "replace") if isinstance(word, bytes) else word if isinstance(word, str) else ""
    return text.strip().lower()


def _pairs(value: Value) -> Iterator[tuple[str, bytes]]:
    if isinstance(value, list):
        for name, one in zip(value[::2], value[1::2], strict=False):
            if isinstance(name, bytes) and isinstance(one, bytes | str):
                text = one if isinstance(one, bytes) else one.encode()
                yield name.decode("ascii", "replace").lower(), text


def _filename(told: Mapping[str, bytes]) -> str | None:
    """A file's name, whole or in pieces (RFC 2231), as one line; None when there is none. The first way in which it is
    written counts, and never two of them together.
    """
    for name in ("filename", "name"):
        if pieces := _pieces(told, name):
            return one_line(_joined(pieces), MAX_FILENAME) or None
        if plain := told.get(name):
            return shown(plain)[:MAX_FILENAME] or None
    return None


def _pieces(told: Mapping[str, bytes], name: str) -> list[tuple[bytes, bool]]:
    """The pieces of an extended parameter in their order, and whether each is percent-encoded."""
    if f"{name}*" in told:
        return [(told[f"{name}*"], True)]
    pieces: list[tuple[bytes, bool]] = []
    while found := [key for key in (f"{name}*{len(pieces)}*", f"{name}*{len(pieces)}") if key in told]:
        pieces.append((told[found[0]], found[0].endswith("*")))
    return pieces


def _joined(pieces: Sequence[tuple[bytes, bool]]) -> str:
    """What they say together; the first one says in which charset, when it is encoded."""
    if not any(is_coded for _, is_coded in pieces):
        return shown(b"".join(piece for piece, _ in pieces))
    (first, is_first_coded), *rest = pieces
    charset = b""
    if is_first_coded:
        charset, _, first = first.partition(b"'")
        first = first.partition(b"'")[2]
    joined = [(first, is_first_coded), *rest]
    data = b"".join(unquote_to_bytes(piece) if is_coded else piece for piece, is_coded in joined)
    return decoded(data, charset.decode("ascii", "replace"))
