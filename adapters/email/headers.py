"""The header of a mail, read with care: anybody may have written it, and anything may be in it. Nothing raises."""

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from adapters.email.addresses import Address, NotAnAddress, parse_address
from adapters.email.charsets import base64_bytes, decoded

MAX_FIELDS = 500
"""How many fields of a header are looked at."""
MAX_VALUE_BYTES = 16 * 1024
MAX_SHOWN = 2_000
"""How many characters of a value are shown."""
MAX_IDS = 50

_FIELD = re.compile(rb"([!-9;-~]{1,100})[ \t]*:(.*)", re.DOTALL)
_WORD = re.compile(r"=\?([A-Za-z0-9_.:-]{1,40})(?:\*[A-Za-z0-9-]{0,20})?\?([bBqQ])\?([^?\s]*)\?=")
_BETWEEN_WORDS = re.compile(r"(\?=)\s+(=\?)")
_ID = re.compile(r"<[^<>\s]{1,250}>")


@dataclass(frozen=True, slots=True)
class Header:
    """Fields in their order, from the top: name in lower case, and value as it stands, unfolded."""

    fields: tuple[tuple[str, bytes], ...] = field(repr=False)

    def all(self, name: str) -> list[bytes]:
        """Every value of a field."""
        return [value for found, value in self.fields if found == name]

    def text(self, name: str) -> str | None:
        """The first value of a field, decoded, in one line; None when there is none."""
        values = self.all(name)
        return shown(values[0]) if values else None

    def address(self, name: str) -> Address | None:
        """The one address in the only value of a field; None when it cannot be read in exactly one way."""
        values = self.all(name)
        try:
            return parse_address(values[0].decode("ascii").strip()) if len(values) == 1 else None
        except (NotAnAddress, UnicodeDecodeError):
            return self._named(values[0])

    def ids(self, name: str) -> list[str]:
        """The Message-IDs in a field."""
        values = self.all(name)
        found = _ID.findall(values[0].decode("ascii", "replace")) if values else []
        return [one for one in found if one.isprintable()][:MAX_IDS]

    def moment(self, name: str) -> str | None:
        """A date as RFC 3339 in UTC; None when it is none."""
        try:
            return parsedate_to_datetime(self.text(name) or "").astimezone(UTC).isoformat()
        except (ValueError, TypeError, IndexError, OverflowError):
            return None

    def _named(self, value: bytes) -> Address | None:
        """`"Name, encoded or quoted" <ann@corp.example>`: the name may be anything but another address."""
        name, bracket, rest = value.strip().rpartition(b"<")
        address, end, after = rest.partition(b">")
        if not bracket or not end or after.strip() or any(sign in name for sign in b"<>@"):
            return None
        try:
            return parse_address(address.decode("ascii"))
        except (NotAnAddress, UnicodeDecodeError):
            return None


def read_header(raw: bytes) -> Header:
    """The fields of a header; lines that are none are left out."""
    return Header(tuple(_fields(raw)))


def shown(value: bytes) -> str:
    """A value as text in one line: encoded words decoded, what cannot be seen left out, and not too long."""
    text = decoded(value[:MAX_VALUE_BYTES], "")
    text = _WORD.sub(_word, _BETWEEN_WORDS.sub(r"\1\2", text))
    return one_line(text, MAX_SHOWN)


def one_line(text: str, limit: int) -> str:
    """The text with every run of what is no printable character as one space."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * limit]).split())[:limit]


def _fields(raw: bytes) -> Iterator[tuple[str, bytes]]:
    lines: list[list[bytes]] = []
    for line in raw.replace(b"\r\n", b"\n").split(b"\n"):
        if not line.strip():
            break
        if line[:1] in (b" ", b"\t") and lines:
            lines[-1].append(line)
        elif len(lines) < MAX_FIELDS:
            lines.append([line])
        else:
            break
    for parts in lines:
        found = _FIELD.fullmatch(b"".join(parts)[:MAX_VALUE_BYTES])
        if found:
            yield found[1].decode("ascii").lower(), found[2].strip()


def _word(found: re.Match[str]) -> str:
    data = found[3].encode("utf-8", "replace")
    if found[2] in "bB":
        return decoded(base64_bytes(data), found[1])
    return decoded(binascii.a2b_qp(data, header=True), found[1])
