"""Issues: search, read, write, comment."""

from collections.abc import Mapping
from typing import Any

from adapters.base import Invocation, Output
from adapters.github.answers import (
    flag,
    found_issue,
    item_of,
    items_of,
    number_of,
    repository_in,
    url,
    whole,
    whole_issue,
)
from adapters.github.limits import CORE, SEARCH
from adapters.github.marks import with_mark
from adapters.github.places import in_repository, next_cursor, page_of
from adapters.transport.api import Api
from adapters.transport.calls import Call
from adapters.transport.replies import malformed

MAX_FOUND = 1000
"""GitHub gives the first thousand results of a search and no more."""
_KINDS = {"issue": "is:issue", "pull_request": "is:pr"}


class Issues:
    """What can be done with issues. A pull request is an issue too: its comments are an issue's."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def search(self, invocation: Invocation) -> Output:
        """Issues of the named repositories. What GitHub finds elsewhere all the same is left out."""
        arguments = invocation.arguments
        query: dict[str, str | int | bool | list[str] | None] = {"q": query_of(arguments), **page_of(arguments)}
        if len(arguments["repositories"]) > 1:
            query["advanced_search"] = "true"  # servers of one's own may know OR by this alone
        if arguments["text"] is None:
            query |= {"sort": "updated", "order": "desc"}
        reply = await self._api.ask(invocation, Call(path="/search/issues", query=query), limit=SEARCH)
        items = [item for item in items_of(reply, "items") if repository_in(item) in arguments["repositories"]]
        structured = {
            "issues": [found_issue(reply, item) for item in items],
            "total_count": whole(item_of(reply).get("total_count")),
            "is_complete": flag(item_of(reply).get("incomplete_results")) is False,
            "next_cursor": next_cursor(reply, "search_issues", arguments, most=MAX_FOUND),
        }
        receipt = f"Found {len(items)} issues or pull requests on this page."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def get(self, invocation: Invocation) -> Output:
        """One issue."""
        arguments = invocation.arguments
        path = in_repository(arguments, "/issues/{}", arguments["number"])
        reply = await self._api.ask(invocation, Call(path=path), limit=CORE)
        receipt = f"Read issue {arguments['full_name']}#{arguments['number']}."
        return Output(structured=whole_issue(reply, item_of(reply)), receipt=receipt, attempts=reply.attempts)

    async def create(self, invocation: Invocation) -> Output:
        """One more issue, whose body ends in the effect's mark."""
        arguments = invocation.arguments
        issue = {"title": arguments["title"], "body": with_mark(arguments["body"], invocation.effect_id)}
        issue |= {name: arguments[name] for name in ("labels", "assignees") if arguments[name]}
        call = Call(method="POST", path=in_repository(arguments, "/issues"), json=issue)
        reply = await self._api.ask(invocation, call, limit=CORE)
        number = number_of(reply, item_of(reply))
        structured = {"number": number, "url": url(item_of(reply).get("html_url"))}
        receipt = f"Created issue {arguments['full_name']}#{number}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def comment(self, invocation: Invocation) -> Output:
        """One more comment, which ends in the effect's mark."""
        arguments = invocation.arguments
        path = in_repository(arguments, "/issues/{}/comments", arguments["number"])
        comment = {"body": with_mark(arguments["body"], invocation.effect_id)}
        reply = await self._api.ask(invocation, Call(method="POST", path=path, json=comment), limit=CORE)
        comment_id = whole(item_of(reply).get("id"))
        if comment_id is None:
            malformed(reply)
        structured = {"comment_id": comment_id, "url": url(item_of(reply).get("html_url"))}
        receipt = f"Commented on {arguments['full_name']}#{arguments['number']}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)


def query_of(arguments: Mapping[str, Any]) -> str:
    """What GitHub is asked, made of prepared arguments.

    Each word of the text is a quotation of its own, in which no qualifier and no operator means anything. Several
    repositories are put together by OR: since 2025 a blank between them means that an issue is in all of them.
    """
    places = [f"repo:{name}" for name in arguments["repositories"]]
    parts = [places[0] if len(places) == 1 else f"({' OR '.join(places)})", _KINDS[arguments["kind"]]]
    if arguments["state"] != "all":
        parts.append(f"is:{arguments['state']}")
    parts += [f'label:"{label}"' for label in arguments["labels"]]
    parts += [f'"{word}"' for word in (arguments["text"] or "").split()]
    return " ".join(parts)
