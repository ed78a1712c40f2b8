"""Where a list goes on, in a form that an agent hands back and need not understand.

A cursor is of one list: of its operation and its other arguments, which policy has seen. It carries what the vendor
calls the next page and nothing else, so that whoever makes one up can ask for another page of the same list at most.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import orjson

from adapters.base import ArgumentIssue, ArgumentProblem

MAX_CHARACTERS = 4096
"""Of a cursor. Rows give it as the argument's `maxLength`."""
_MAX_PAGE = 2048
_PATH = "/cursor"


def cursor_to(page: str | int | None, operation: str, arguments: Mapping[str, Any]) -> str | None:
    """The cursor to a page of the list of these prepared arguments; None when there are no more pages.

    A vendor's page that is longer than 2,048 characters, or not printable, is none either: the list ends there. So it
    does where the next page is the page itself.
    """
    if page is None or page == "" or not _is_page(page) or page == arguments.get("page"):
        return None
    cursor = base64.urlsafe_b64encode(orjson.dumps([page, _list(operation, arguments)])).rstrip(b"=").decode()
    return cursor if len(cursor) <= MAX_CHARACTERS else None  # one that would not be taken back


def with_page(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the vendor's `page` beside their `cursor`, both None for the first page; for `prepare`.

    Call it last: whatever else is in the prepared arguments is what the list is of. Raises `ArgumentProblem` for a
    cursor that is none, or of another list.
    """
    rest = {name: value for name, value in arguments.items() if name not in ("cursor", "page")}
    cursor = arguments.get("cursor")
    if cursor is None:
        return {**rest, "cursor": None, "page": None}
    page, of = _read(cursor)
    if of != _list(operation, rest):
        raise _problem("other_list", "The cursor is of another list. Leave it out to begin this one.")
    return {**rest, "cursor": cursor, "page": page}


def _list(operation: str, arguments: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in arguments.items() if name not in ("cursor", "page")}
    told = json.dumps([operation, rest], sort_keys=True)  # takes every number and every text that JSON can hold
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _read(cursor: object) -> tuple[str | int, str]:
    if not isinstance(cursor, str) or len(cursor) > MAX_CHARACTERS:
        raise _unreadable()
    try:
        value = orjson.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except ValueError as error:
        raise _unreadable() from error
    match value:
        case [page, str(of)] if _is_page(page):
            return page, of
    raise _unreadable()


def _is_page(page: object) -> bool:
    if isinstance(page, str):
        return 0 < len(page) <= _MAX_PAGE and page.isascii() and page.isprintable()
    return isinstance(page, int) and not isinstance(page, bool) and 0 <= page < 2**53


def _unreadable() -> ArgumentProblem:
    return _problem("cursor", "This is no cursor of ours. Use the `next_cursor` of the page before, as it stands.")


def _problem(rule: str, message: str) -> ArgumentProblem:
    return ArgumentProblem(ArgumentIssue(path=_PATH, rule=rule, message=message))
