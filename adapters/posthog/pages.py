"""Where PostHog's lists go on. It names a URL; of that one number is taken, and the URL itself is never followed."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

MOST = 50_000
"""PostHog refuses a greater offset."""


def offset_of(page: str | int | None) -> int:
    """How much of a list to leave out for a page; 0 for the first, and for what is none of our pages."""
    if isinstance(page, str):
        page = int(page) if page.isascii() and page.isdigit() and len(page) <= 6 else 0
    return min(max(page or 0, 0), MOST)


def next_offset(url: Any, offset: int) -> int | None:
    """The offset in the URL of the next page; None when there is no such page, or it would not lead on."""
    if not isinstance(url, str) or len(url) > 4096:
        return None
    try:
        values = parse_qs(urlsplit(url).query).get("offset", [])
    except ValueError:
        return None
    found = [int(value) for value in values if value.isascii() and value.isdigit() and len(value) <= 6]
    return found[0] if found and offset < found[0] <= MOST else None
