"""When a message came, as the server says it."""

import re
from datetime import UTC, datetime, timedelta, timezone

_MONTHS = {
    name: number
    for number, name in enumerate(
        (b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"), 1
    )
}
_DATE = re.compile(rb" ?(\d{1,2})-([A-Za-z]{3})-(\d{4}) (\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})")


def internal_date(value: object) -> str | None:
    """An INTERNALDATE (`17-Jul-2026 02:44:25 -0700`) as RFC 3339 in UTC; None when it is none."""
    found = _DATE.fullmatch(value) if isinstance(value, bytes) else None
    month = _MONTHS.get(found[2].lower()) if found else None
    if found is None or month is None:
        return None
    day, year, hour, minute, second = (int(found[index]) for index in (1, 3, 4, 5, 6))
    offset = timedelta(hours=int(found[8]), minutes=int(found[9])) * (-1 if found[7] == b"-" else 1)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone(offset))
        return moment.astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return None
