"""Where things are, and how lists go on."""

from typing import Any

import pytest
from multidict import CIMultiDict

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.github.places import MAX_PAGE, below, has_next, in_repository, next_cursor, page_of
from adapters.transport.cursors import with_page
from adapters.transport.replies import Reply

PLACE = {"owner": "acme", "repository": "site"}
LINK = '<https://api.github.com/repositories/1/issues?page=2>; rel="next", <https://x.example/?page=9>; rel="last"'


def reply(link: str | None = None) -> Reply:
    """A page."""
    headers = CIMultiDict({} if link is None else {"Link": link})
    return Reply(status=200, headers=headers, value=[], happened=Happened.NO)


def test_a_place_is_below_its_repository() -> None:
    """Each argument is one segment, whatever is in it."""
    assert in_repository(PLACE, "/commits/{}/check-runs", "a/b") == "/repos/acme/site/commits/a%2Fb/check-runs"


def test_a_name_with_slashes_keeps_them_and_nothing_else() -> None:
    """A question mark is no query."""
    assert below(PLACE, "/contents", "docs/a b?.md") == "/repos/acme/site/contents/docs/a%20b%3F.md"
    with pytest.raises(AdapterError) as caught:
        below(PLACE, "/contents", "docs/../../x")
    assert caught.value.kind is ErrorKind.INVALID


@pytest.mark.parametrize(
    ("link", "goes_on"),
    [
        (LINK, True),
        (LINK.replace("next", "prev"), False),
        ("", False),
        (None, False),
        ("rel=next", False),
        ("<<>>", False),
    ],
)
def test_a_list_goes_on_when_github_says_so(link: str | None, goes_on: bool) -> None:
    """Where it says it goes on is not followed: the page is counted."""
    assert has_next(reply(link)) is goes_on


def test_a_cursor_leads_to_the_page_after() -> None:
    """Of the same list, and of no other."""
    first = with_page("list", {**PLACE, "page_size": 20})
    assert page_of(first) == {"per_page": 20, "page": 1}
    cursor = next_cursor(reply(LINK), "list", first)
    assert page_of(with_page("list", {**PLACE, "page_size": 20, "cursor": cursor})) == {"per_page": 20, "page": 2}
    assert next_cursor(reply(), "list", first) is None


def test_no_list_goes_on_to_a_page_that_would_not_be_taken() -> None:
    """After a thousand pages it ends."""
    page = {"page": MAX_PAGE, "page_size": 1}
    assert next_cursor(reply(LINK), "list", page) is None
    assert next_cursor(reply(LINK), "list", {**page, "page": MAX_PAGE - 1}) is not None


def test_a_search_ends_where_github_ends_it() -> None:
    """After a thousand results it would refuse."""
    page: dict[str, Any] = {"page": 10, "page_size": 100}
    assert next_cursor(reply(LINK), "search", page, most=1000) is None
    assert next_cursor(reply(LINK), "search", {**page, "page": 9}, most=1000) is not None
