"""JSON Pointers (RFC 6901), split once and followed often."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

MAX_CHARACTERS = 1024
_FORM = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")

Tokens = tuple[str, ...]


class Absent(Enum):
    """The type of what is not there, which no JSON value is."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


def split(pointer: object) -> Tokens | None:
    """The pointer's tokens; None when it is no JSON Pointer."""
    if not isinstance(pointer, str) or len(pointer) > MAX_CHARACTERS or not _FORM.fullmatch(pointer):
        return None
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])


def escaped(token: str) -> str:
    """One token as it stands in a pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def find(value: Any, tokens: Tokens) -> Any:
    """What the pointer leads to; `ABSENT` when that is nothing."""
    for token in tokens:
        if isinstance(value, Mapping):
            value = value.get(token, ABSENT)
        elif isinstance(value, list):
            index = index_of(token)
            value = value[index] if index is not None and index < len(value) else ABSENT
        else:
            return ABSENT
    return value


def index_of(token: str) -> int | None:
    """The index of a list that a token is; None when it is none."""
    return int(token) if _INDEX.fullmatch(token) else None
