"""Time zones by their names in the IANA list."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo


def find_zone(name: str) -> tzinfo | None:
    """The zone; None when this machine knows none by that name, whatever the name would be as a path."""
    if name == "UTC":
        return UTC  # works where the machine has no list of zones
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a name at all; a folder of names
        return None
