"""What an IMAP server says, as values: an atom is a `str`, a string or literal `bytes`, NIL None, a list a list.

A server is a stranger's program: how deep and how much it nests is bounded, and what does not keep to the grammar
is `NotImap`.
"""

import re
from collections.abc import Sequence

Value = str | bytes | list["Value"] | None

MAX_DEPTH = 500
"""Nothing here goes down by calling itself: how deep a message is taken apart is `structure`'s to bound."""
MAX_VALUES = 20_000
"""Of all that one `Reader` reads: taking values apart holds up everything else."""

# An atom may hold brackets with anything in them: BODY[HEADER.FIELDS (FROM TO)]<0>.
_ATOM = re.compile(rb'(?:[^\s()"\[\]{}]|\[[^\]\r\n]*\])+')
_QUOTED = re.compile(rb'"((?:[^"\\\r\n]|\\["\\])*)"')
_ESCAPED = re.compile(rb'\\(["\\])')
_LITERAL = re.compile(rb"~?\{(\d{1,10})\+?\}\Z")


class NotImap(Exception):  # noqa: N818 - the server's mistake, and it is mapped at once
    """What the server said does not keep to the grammar."""


def literal_size(line: bytes) -> int | None:
    """How many bytes follow a line that ends with a literal's announcement; None when it does not."""
    found = _LITERAL.search(line)
    return int(found[1]) if found else None


class Reader:
    """Reads responses, each into a list of its own, and not too much of all of them together."""

    def __init__(self) -> None:
        self._open: list[list[Value]] = [[]]
        self._count = 0

    def read(self, pieces: Sequence[bytes]) -> list[Value]:
        """The values of a response: its pieces are lines and literals in turn, a line first. Raises `NotImap`."""
        self._open = [[]]
        for index, piece in enumerate(pieces):
            if index % 2:
                self._add(piece)
            else:
                self._line(_LITERAL.sub(b"", piece) if index + 1 < len(pieces) else piece)
        return self._done()

    def _line(self, line: bytes) -> None:
        at = 0
        while at < len(line):
            at = self._one(line, at)

    def _one(self, line: bytes, at: int) -> int:
        """One value or sign, and where it ends."""
        sign = line[at : at + 1]
        if sign in b" \t":
            return at + 1
        if sign == b"(":
            self._down()
            return at + 1
        if sign == b")":
            self._up()
            return at + 1
        pattern = _QUOTED if sign == b'"' else _ATOM
        found = pattern.match(line, at)
        if found is None:
            raise NotImap("a sign that does not belong there")
        self._add(_ESCAPED.sub(rb"\1", found[1]) if sign == b'"' else _atom(found[0]))
        return found.end()

    def _add(self, value: Value) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise NotImap("too many values")
        self._open[-1].append(value)

    def _down(self) -> None:
        if len(self._open) > MAX_DEPTH:
            raise NotImap("lists too deep in one another")
        inner: list[Value] = []
        self._add(inner)
        self._open.append(inner)

    def _up(self) -> None:
        if len(self._open) == 1:
            raise NotImap("the end of a list that did not begin")
        self._open.pop()

    def _done(self) -> list[Value]:
        if len(self._open) != 1:
            raise NotImap("a list without end")
        return self._open[0]


def _atom(word: bytes) -> str | None:
    try:
        atom = word.decode("ascii")
    except UnicodeDecodeError as error:
        raise NotImap("a word beyond ASCII") from error
    return None if atom.upper() == "NIL" else atom
