"""Words of ours in an IMAP command. Nothing that an agent wrote can end a command or become another one."""

import base64
from dataclasses import dataclass, field
from datetime import date

MAX_QUOTED = 400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Literal:
    """A string that goes with its length before it, so that no byte of it can mean anything."""

    data: bytes = field(repr=False)


Word = bytes | Literal


def string(text: str) -> Word:
    """The text as a string of a command: in quotes when it is short and plain, else a literal. Raises ValueError for
    NUL, which no string may hold, and for half a character.
    """
    data = text.encode()
    if b"\0" in data:
        raise ValueError("NUL has no place in an IMAP string")
    if len(data) <= MAX_QUOTED and text.isascii() and text.isprintable():
        return b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    return Literal(data)


def mailbox(name: str) -> Word:
    """A folder's name, in modified UTF-7 (RFC 3501, 5.1.3), as a string."""
    return string(modified_utf7(name))


def modified_utf7(name: str) -> str:
    """The name in ASCII: `&` begins what is beyond it, `&-` is `&` itself."""
    parts: list[str] = []
    beyond: list[str] = []
    for character in name:
        if " " <= character <= "~":
            parts += [_shifted(beyond), "&-" if character == "&" else character]
            beyond = []
        else:
            beyond.append(character)
    return "".join([*parts, _shifted(beyond)])


def day(value: date) -> bytes:
    """The day as SEARCH takes it, whatever the machine's language: 1-Feb-2026."""
    return f"{value.day}-{_MONTHS[value.month - 1]}-{value.year:04}".encode()


def _shifted(characters: list[str]) -> str:
    if not characters:
        return ""
    coded = base64.b64encode("".join(characters).encode("utf-16-be")).rstrip(b"=").replace(b"/", b",")
    return f"&{coded.decode()}-"
