"""A vendor's payload as a normal event: read by an allow-list, of the right types, and never longer than it may be."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from adapters.transport.values import mapping, mappings
from adapters.webhooks import DeliveryRefused, Event, Fault

MAX_TEXT = 4_000
"""Characters of one text."""
MAX_ITEMS = 50
"""Things in one list."""
MAX_BYTES = 48 * 1024
"""Of an event's data as JSON. What is longer is cut shorter still."""
_CUTS = ((MAX_TEXT, MAX_ITEMS), (1_000, 20), (200, 10), (50, 5))
_END_OF_TIME = 253_402_300_800  # the year 10000
_DECIMAL = re.compile(r"[0-9]{1,11}(\.[0-9]{1,9})?")
_ID = re.compile(r"[\x21-\x7e]{1,128}")


def malformed() -> DeliveryRefused:
    """It is signed, and says nothing that can be understood: to be raised."""
    return DeliveryRefused(Fault.MALFORMED)


def loaded(body: bytes) -> Mapping[str, Any]:
    """The object that a body is. Call it when the signature is known to be good. Raises `DeliveryRefused`."""
    try:
        value = orjson.loads(body)
    except ValueError as error:
        raise malformed() from error
    if not isinstance(value, dict):
        raise malformed()
    return value


def digest_of(body: bytes) -> str:
    """What names a delivery when its vendor signs no name: nobody can repeat it under another."""
    return hashlib.sha256(body).hexdigest()


def event_of(*, id: str, kind: str, occurred_at: float | None, subject: str, data: Mapping[str, Any]) -> Event:  # noqa: A002 - the event's
    """The event, with whatever is too long in its data cut, and `cut`: the names of what is not all there.

    Raises `DeliveryRefused` (malformed) for an id that is none.
    """
    if not _ID.fullmatch(id):
        raise malformed()
    return Event(id=id, kind=kind, occurred_at=occurred_at, subject=subject, data=_fitting(data))


def text(value: object) -> str | None:
    """A text that is not empty."""
    return value if isinstance(value, str) and value else None


def whole(value: object) -> int | None:
    """A whole number that JSON can carry."""
    return value if type(value) is int and abs(value) < 2**53 else None


def flag(value: object) -> bool | None:
    """Yes or no."""
    return value if isinstance(value, bool) else None


def address(value: object) -> str | None:
    """An address on the web."""
    return value if isinstance(value, str) and value.startswith(("https://", "http://")) else None


def matching(value: object, form: re.Pattern[str]) -> str:
    """A text of one form, without which there is no event. Raises `DeliveryRefused` (malformed)."""
    if not isinstance(value, str) or not form.fullmatch(value):
        raise malformed()
    return value


def known(value: object, form: re.Pattern[str]) -> str | None:
    """A text of one form, if it is."""
    return value if isinstance(value, str) and form.fullmatch(value) else None


def texts(items: object, name: str) -> list[str]:
    """What the objects of a list have under a name."""
    return [found for one in mappings(items) if (found := text(one.get(name)))]


def words(value: object) -> list[str]:
    """The texts of a list."""
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def named(value: object, *names: str) -> dict[str, str | None] | None:
    """Texts of an object; None when it has none of them."""
    found = {name: text(mapping(value).get(name)) for name in names}
    return found if any(found.values()) else None


def moment(value: object) -> float | None:
    """Seconds since the epoch: of a number of them, in digits too, or of a moment in ISO 8601, in UTC if it does not
    say where; None for what is none, and for what is before 1970 or after 9999.
    """
    seconds = _seconds(value)
    return seconds if seconds is not None and 0 <= seconds < _END_OF_TIME else None


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    if _DECIMAL.fullmatch(value):
        return float(value)
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _fitting(data: Mapping[str, Any]) -> dict[str, Any]:
    fitting: dict[str, Any] = {}
    for most_text, most_items in _CUTS:
        kept = {name: _cut(value, most_text, most_items) for name, value in data.items()}
        fitting = {**kept, "cut": sorted(_changed(data, kept))}
        if len(orjson.dumps(fitting)) <= MAX_BYTES:
            break
    return fitting


def _changed(data: Mapping[str, Any], kept: Mapping[str, Any]) -> Iterator[str]:
    return (name for name, value in data.items() if kept[name] != value)


def _cut(value: Any, most_text: int, most_items: int) -> Any:
    match value:
        case str():
            return value if len(value) <= most_text else f"{value[: most_text - 1]}…"
        case list():
            return [_cut(one, most_text, most_items) for one in value[:most_items]]
        case dict():
            return {name: _cut(one, most_text, most_items) for name, one in value.items()}
    return value
