"""Where PostHog's lists go on."""

from typing import Any

import pytest

from adapters.posthog.pages import MOST, next_offset, offset_of


def test_of_a_next_page_the_offset_is_taken() -> None:
    """Wherever the URL leads."""
    for host in ("us.posthog.com", "evil.test:99", "127.0.0.1"):
        assert next_offset(f"https://{host}/api/projects/1/persons/?limit=20&offset=40", 20) == 40
    assert next_offset("?offset=40", 0) == 40


@pytest.mark.parametrize(
    "url",
    [
        None,
        7,
        "",
        "http://[",
        "https://us.posthog.com/api/?cursor=abc",
        "https://us.posthog.com/api/?offset=20",
        "https://us.posthog.com/api/?offset=-1",
        "https://us.posthog.com/api/?offset=1e3",
        "https://us.posthog.com/api/?offset=\u0664\u0660",
        f"https://us.posthog.com/api/?offset={MOST + 1}",
        "https://us.posthog.com/api/?offset=99999999999999999999",
        "x" * 5000,
    ],
)
def test_what_leads_nowhere_ends_the_list(url: Any) -> None:
    """Back to where it was, or further than PostHog goes, as well."""
    assert next_offset(url, 20) is None


@pytest.mark.parametrize(
    ("page", "offset"), [(None, 0), (40, 40), ("40", 40), (-1, 0), ("", 0), ("x", 0), ("9" * 7, 0), (10**6, MOST)]
)
def test_a_page_is_an_offset_within_bounds(page: Any, offset: int) -> None:
    """Whoever made the cursor."""
    assert offset_of(page) == offset
