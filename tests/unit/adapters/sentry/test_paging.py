"""The next page is in the `Link` header, if there is anything on it."""

import pytest
from fakes.cases.sentry import LINK

from adapters.base import Happened
from adapters.sentry.paging import next_page
from adapters.transport.replies import Reply


def page(link: str | None) -> str | None:
    """What a header says."""
    headers = {} if link is None else {"Link": link}
    return next_page(Reply(status=200, headers=headers, value=[], happened=Happened.NO))


def test_the_cursor_of_the_next_page_is_taken() -> None:
    """Not that of the page before, and whatever commas are in the URLs."""
    assert page(LINK) == "0:20:0"


@pytest.mark.parametrize(
    "link",
    [
        None,
        "",
        "nonsense",
        LINK.replace('results="true"', 'results="false"'),
        '<https://a.example>; rel="next"; cursor="1:0:0"',
        '<https://a.example>; rel="next"; results="true"',
        '<https://a.example>; rel="next"; results="true"; cursor=""',
        '<https://a.example>; rel="previous"; results="true"; cursor="1:0:0"',
        '<https://a.example?x=rel="next">; results="true"; cursor="1:0:0"',
        "<" * 5000,
    ],
)
def test_otherwise_this_is_the_last_page(link: str | None) -> None:
    """Sentry names a next page also when nothing is there."""
    assert page(link) is None
