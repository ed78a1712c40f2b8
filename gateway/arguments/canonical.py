"""The one form that is hashed: RFC 8785 (JSON Canonicalization Scheme)."""

import hashlib
import re
from collections.abc import Collection
from typing import Any

import orjson
import rfc8785

_HIGH_BMP = re.compile(rb"[\xee\xef]")
_ASTRAL = re.compile(rb"[\xf0-\xf4]")


def canonical(value: Any) -> bytes:
    """`value` by RFC 8785. Raises `ValueError` when it is not JSON within I-JSON's bounds."""
    try:
        if _is_plain((value,)):
            written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER)
            if written.isascii() or not _may_sort_differently(written):
                return written
        return rfc8785.dumps(value)
    except (orjson.JSONEncodeError, rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        # Their texts quote the value.
        raise ValueError("the value is not JSON") from error


def digest(canonical_form: bytes) -> str:
    """`sha256:` and the lower-case hex digest."""
    return f"sha256:{hashlib.sha256(canonical_form).hexdigest()}"


def _is_plain(items: Collection[Any]) -> bool:
    """Whether orjson writes every value as RFC 8785 does: exact JSON types, and no float that one of
    the two would write as an integer or with an exponent.
    """
    for item in items:
        kind = type(item)
        if kind is str or kind is int or kind is bool or item is None:
            continue
        if kind is dict:
            if not _is_plain(item.values()):
                return False
        elif kind is list:
            if not _is_plain(item):
                return False
        elif kind is not float or not 1e-4 <= abs(item) < 1e15 or item.is_integer():
            return False
    return True


def _may_sort_differently(written: bytes) -> bool:
    """RFC 8785 sorts keys by UTF-16 and orjson by UTF-8; the two differ only between a character from
    U+E000 to U+FFFF and one beyond U+FFFF.
    """
    return _ASTRAL.search(written) is not None and _HIGH_BMP.search(written) is not None
