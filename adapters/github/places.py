"""Where things are in GitHub's API, and how its lists go on."""

import re
from collections.abc import Mapping
from typing import Any

from adapters.transport.calls import path_of
from adapters.transport.cursors import cursor_to
from adapters.transport.replies import Reply

MAX_PAGE = 1000
"""No list is read further."""
_NEXT = re.compile(r'<[^>]*>[^,<]*;\s*rel="?next"?')


def in_repository(arguments: Mapping[str, Any], form: str = "", *segments: str | int) -> str:
    """A path below the repository of prepared arguments. Each `{}` of the form is one segment."""
    return path_of(f"/repos/{{}}/{{}}{form}", arguments["owner"], arguments["repository"], *segments)


def below(arguments: Mapping[str, Any], form: str, name: str) -> str:
    """A path that ends in a name with slashes of its own: a branch, or the path of a file."""
    parts = name.split("/")
    return in_repository(arguments, form + "/{}" * len(parts), *parts)


def page_of(arguments: Mapping[str, Any]) -> dict[str, int]:
    """What asks for the page of prepared arguments."""
    return {"per_page": arguments["page_size"], "page": arguments["page"] or 1}


def has_next(reply: Reply) -> bool:
    """Whether GitHub says that its list goes on."""
    return _NEXT.search(reply.headers.get("Link", "")) is not None


def next_cursor(reply: Reply, operation: str, arguments: Mapping[str, Any], *, most: int | None = None) -> str | None:
    """The cursor to the next page, if there is one; `most` is how many results GitHub gives in all."""
    page = arguments["page"] or 1
    if not has_next(reply) or page >= MAX_PAGE or (most is not None and page * arguments["page_size"] >= most):
        return None
    return cursor_to(page + 1, operation, arguments)
