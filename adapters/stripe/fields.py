"""Reading what agents say to Stripe's operations: ids by their form, moments, amounts in minor units."""

import re
from datetime import UTC, datetime

from adapters.transport.fields import Fields

LIMIT = 20
MAX_LIMIT = 100
MAX_AMOUNT = 999_999_999_999

_FORMS = {
    "charge": ("ch_ or py_", re.compile(r"(?:ch|py)_[A-Za-z0-9_-]{1,250}")),
    "intent": ("pi_", re.compile(r"pi_[A-Za-z0-9_-]{1,250}")),
    "invoice": ("in_", re.compile(r"in_[A-Za-z0-9_-]{1,250}")),
    "customer": ("cus_", re.compile(r"cus_[A-Za-z0-9_-]{1,250}")),
    "refundable": ("pi_, ch_ or py_", re.compile(r"(?:pi|ch|py)_[A-Za-z0-9_-]{1,250}")),
}
_EMAIL = re.compile(r"[!-?A-~]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?")
_CURRENCY = re.compile(r"[a-z]{3}")


class Reader(Fields):
    """Reads arguments one by one and keeps every issue, for `checked` to raise together."""

    def id(self, name: str, form: str) -> str | None:
        """The id of something at Stripe, or None."""
        prefix, pattern = _FORMS[form]
        return self.optional(name, pattern, f"an id of Stripe's that begins with {prefix}")

    def seconds(self, name: str) -> int | None:
        """A moment in seconds since the epoch, or None."""
        value = self.value(name)
        seconds = None if value is None else _seconds(value)
        if value is not None and seconds is None:
            message = f"`{name}` must be a date, or a time with its zone, such as 2026-01-31T00:00:00Z."
            self.issue(f"/{name}", "date-time", message)
        return seconds

    def word(self, name: str, words: tuple[str, ...]) -> str | None:
        """One of these, or None."""
        value: str | None = self.value(name)
        if value is not None and value not in words:
            self.issue(f"/{name}", "enum", f"`{name}` must be one of {', '.join(words)}.")
        return value

    def email(self, name: str) -> str:
        """An address as it stands: Stripe tells capitals apart."""
        value = str(self.value(name))
        if len(value) > 512 or ".." in value or not _EMAIL.fullmatch(value):
            self.issue(f"/{name}", "email", f"`{name}` must be one plain address, such as ann@corp.example.")
        return value

    def currency(self, name: str) -> str:
        """Three small letters."""
        value = str(self.value(name)).lower()
        if not _CURRENCY.fullmatch(value):
            self.issue(f"/{name}", "currency", f"`{name}` must be the three letters of a currency, such as usd.")
        return value

    def amount(self, name: str) -> int:
        """More than nothing, in the currency's smallest unit."""
        value = int(self.value(name))
        if not 1 <= value <= MAX_AMOUNT:
            self.issue(
                f"/{name}", "range", f"`{name}` must be from 1 to {MAX_AMOUNT}, in the currency's smallest unit."
            )
        return value


def _seconds(text: str) -> int | None:
    """Of a time with a zone, or of a date's first moment in UTC."""
    try:
        moment = datetime.fromisoformat(text) if text.isascii() else None
        if moment is None or (moment.tzinfo is None and len(text) != len("2026-01-31")):
            return None
        seconds = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None
    return seconds if seconds >= 0 else None
