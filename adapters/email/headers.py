"""The header of a mail, read with care: anybody may have written it, and anything may be in it. Nothing raises."""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from adapters.email.addresses import Address, NotAnAddress, parse_address
from adapters.email.charsets import base64_bytes, decoded

MAX_FIELDS = 500
"""How many fields of a header are looked at."""
MAX_HEADER_BYTES = 64 * 1024
MAX_ADDRESS_BYTES = 2_000
"""How long a field with one address may be, the name included."""
MAX_VALUE_BYTES = 16 * 1024
"""How much of a value is shown or looked at."""
MAX_SHOWN = 2_000
"""How many characters of a value are shown."""
MAX_IDS = 50

_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:(.*)", re.DOTALL)
_WORD = re.compile(r"=\?([A-Za-z0-9_.:-]{1,40})(?:\*[A-Za-z0-9-]{0,20})?\?([bBqQ])\?([^?\s]*)\?=")
_BETWEEN_WORDS = re.compile(r"(\?=)\s+(=\?)")
_OF_ADDRESSES = frozenset("<>@\uff20\ufe6b")
_ID = re.compile(r"<[^<>\s]{1,250}>")


@dataclass(frozen=True, slots=True)
class Header:
    """Fields in their order, from the top: name in lower case, and value as it stands, unfolded and whole."""

    fields: tuple[tuple[str, bytes], ...] = field(repr=False)
    is_whole: bool = True
    """Whether these are all fields that there are."""

    def all(self, name: str) -> list[bytes]:
        """Every value of a field."""
        return [value for found, value in self.fields if found == name]

    def text(self, name: str) -> str | None:
        """The first value of a field, decoded, in one line; None when there is none."""
        values = self.all(name)
        return shown(values[0]) if values else None

    def address(self, name: str) -> Address | None:
        """The one address in the only value of a field; None when it cannot be read in exactly one way, as when there
        may be more of the header than is known.
        """
        values = self.all(name)
        if len(values) != 1 or not self.is_whole or len(values[0]) > MAX_ADDRESS_BYTES:
            return None
        try:
            return parse_address(values[0].decode("ascii").strip())
        except (NotAnAddress, UnicodeDecodeError):
            return self._named(values[0])

    def ids(self, name: str) -> list[str]:
        """The Message-IDs in a field."""
        values = self.all(name)
        found = _ID.findall(values[0][:MAX_VALUE_BYTES].decode("ascii", "replace")) if values else []
        return [one for one in found if one.isprintable()][:MAX_IDS]

    def moment(self, name: str) -> str | None:
        """A date as RFC 3339 in UTC; None when it is none."""
        try:
            return _universal(parsedate_to_datetime(self.text(name) or "")).isoformat()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None

    def _named(self, value: bytes) -> Address | None:
        """`"Name, encoded or quoted" <ann@corp.example>`: the name may be anything but another address."""
        name, bracket, rest = value.strip().rpartition(b"<")
        address, end, after = rest.partition(b">")
        # What the name is encoded as counts, and what it is read as.
        has_another = _OF_ADDRESSES & {*name.decode("latin-1"), *shown(name)}
        if not bracket or not end or after.strip() or has_another:
            return None
        try:
            return parse_address(address.decode("ascii"))
        except (NotAnAddress, UnicodeDecodeError):
            return None


def read_header(raw: bytes, limit: int = MAX_HEADER_BYTES) -> Header:
    """The fields of a header; lines that are none are left out. `limit` is how many bytes were asked for: a header
    that is as long was cut, and its last field, which may go on, is left out.
    """
    lines, has_end = _lines(raw[:limit])
    is_cut = len(raw) >= limit and not has_end
    if is_cut:
        lines = lines[:-1]
    return Header(tuple(_fields(lines[:MAX_FIELDS])), is_whole=not is_cut and len(lines) <= MAX_FIELDS)


def shown(value: bytes) -> str:
    """A value as text in one line: encoded words decoded, what cannot be seen left out, and not too long."""
    text = decoded(value[:MAX_VALUE_BYTES], "")
    text = _WORD.sub(_word, _BETWEEN_WORDS.sub(r"\1\2", text))
    return one_line(text, MAX_SHOWN)


def one_line(text: str, limit: int) -> str:
    """The text with every run of what is no printable character as one space."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * limit]).split())[:limit]


def _lines(raw: bytes) -> tuple[list[list[bytes]], bool]:
    """The lines of each field, of one field more than there may be at most; and whether the header ended."""
    fields: list[list[bytes]] = []
    for line in raw.replace(b"\r\n", b"\n").split(b"\n"):
        if not line.strip():
            return fields, True
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1].append(line)
        elif len(fields) <= MAX_FIELDS:
            fields.append([line])
        else:
            break
    return fields, False


def _fields(lines: list[list[bytes]]) -> Iterator[tuple[str, bytes]]:
    for parts in lines:
        found = _FIELD.fullmatch(b"".join(parts))
        if found:
            yield found[1].decode("ascii").lower(), found[2].strip()


def _word(found: re.Match[str]) -> str:
    data = found[3].encode("utf-8", "replace")
    if found[2] in "bB":
        return decoded(base64_bytes(data), found[1])
    return decoded(binascii.a2b_qp(data, header=True), found[1])


def _universal(moment: datetime) -> datetime:
    """A moment whose zone nobody knows (`-0000`) is one of UTC, and not of wherever this runs."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
