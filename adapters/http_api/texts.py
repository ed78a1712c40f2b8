"""A scalar as it stands in a path, a query, a header or a form."""

import math
from typing import Any

import orjson

_WRITTEN_OUT = 1e21
"""From here on JSON's canonical form has an exponent (RFC 8785)."""


def text_of(value: Any) -> str | None:
    """The text of a text, a number or a truth; None for anything else, and for what cannot be written.

    A number that is whole is written without a fraction, however it came.
    """
    if isinstance(value, str):
        return value if value.isascii() or is_whole_unicode(value) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(2**64) < value < 2**64 else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < _WRITTEN_OUT else orjson.dumps(value).decode()
    return None


def is_whole_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: it holds no half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True
