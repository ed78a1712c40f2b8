"""A scalar as it stands in a path, a query, a header or a form."""

import math
from typing import Any

import orjson


def text_of(value: Any) -> str | None:
    """The text of a text, a number or a truth; None for anything else, and for what cannot be written.

    A number that is whole is written without a fraction, however it came.
    """
    if isinstance(value, str):
        return value if value.isascii() or _is_whole_unicode(value) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(2**64) < value < 2**64 else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else orjson.dumps(value).decode()
    return None


def _is_whole_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return False
    return True
