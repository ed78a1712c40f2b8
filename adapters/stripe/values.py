"""Values of Stripe's objects, read so that whatever comes instead is told apart."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
_CURRENCY = re.compile(r"[a-z]{3}")
_MOST_TEXT = 1000


class Unreadable(Exception):  # noqa: N818 - whoever asked makes an error of it
    """An object lacks what it must have."""


def identifier(value: Any) -> str | None:
    """An id, whether the object itself came along or not."""
    found = value.get("id") if isinstance(value, Mapping) else value
    return found if isinstance(found, str) and _ID.fullmatch(found) else None


def text(value: Any) -> str | None:
    """A text of 1,000 characters at most."""
    return value[:_MOST_TEXT] if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """A whole number that JSON can carry."""
    return value if type(value) is int and abs(value) < 2**53 else None


def flag(value: Any) -> bool | None:
    """Yes or no."""
    return value if isinstance(value, bool) else None


def moment(value: Any) -> str | None:
    """Seconds since the epoch as RFC 3339, in UTC."""
    seconds = whole(value)
    if seconds is None or not 0 <= seconds < 253_402_300_800:  # the year 10000
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def object_of(value: Any, kind: str) -> Mapping[str, Any]:
    """An object of this kind. Raises `Unreadable`."""
    raw = mapping(value)
    if raw.get("object", kind) != kind:
        raise Unreadable
    return raw


def mapping(value: Any) -> Mapping[str, Any]:
    """An object. Raises `Unreadable`."""
    if not isinstance(value, Mapping):
        raise Unreadable
    return value


def id_of(raw: Mapping[str, Any]) -> str:
    """Its id. Raises `Unreadable`."""
    found = identifier(raw.get("id"))
    if found is None:
        raise Unreadable
    return found


def currency_of(raw: Mapping[str, Any]) -> str:
    """Its currency. Raises `Unreadable`."""
    found = raw.get("currency")
    if not isinstance(found, str) or not _CURRENCY.fullmatch(found):
        raise Unreadable
    return found


def money_of(raw: Mapping[str, Any]) -> Json:
    """Its amount and currency. Raises `Unreadable`."""
    amount = whole(raw.get("amount"))
    if amount is None:
        raise Unreadable
    return {"amount": amount, "currency": currency_of(raw)}
