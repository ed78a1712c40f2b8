"""Searching the web through an instance of SearXNG that the operator runs (its JSON API)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NotRequired, TypedDict
from urllib.parse import quote

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Output,
    Target,
)
from adapters.transport.api import Api, ApiParts, Vendor
from adapters.transport.authorisation import Basic, Bearer, WhenGiven
from adapters.transport.base_urls import url_problems
from adapters.transport.calls import Call
from adapters.transport.cursors import cursor_to, with_page
from adapters.transport.oauth import ByForm
from adapters.transport.replies import Reply, by_status, malformed
from adapters.transport.urls import UrlProblem, canonical_url

Category = Literal["general", "news", "it", "science", "images", "videos", "music", "files", "map", "social_media"]
TimeRange = Literal["day", "week", "month", "year"]
SafeSearch = Literal["off", "moderate", "strict"]
MAX_QUERY = 400
MAX_RESULTS = 50
MAX_PAGES = 10

_MAX_ENCODED = 1400
_MAX_CATEGORIES = 10
_MAX_TITLE = 300
_MAX_SNIPPET = 1000
_MAX_NAME = 60
_COMMAND = re.compile(r"(?:^| )(?:![!\w]|:\w|<\d)")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[A-Z]{2})?")
_SAFE = {"off": 0, "moderate": 1, "strict": 2}
_CATEGORIES = {"social_media": "social media"}
_WORDS = {
    400: (
        ErrorKind.INVALID,
        "The search instance does not take this; leave out `language` or `categories`.",
    ),
    403: (
        ErrorKind.FORBIDDEN,
        "The search instance gives no JSON; its operator has to allow the format json in its settings.",
    ),
    404: (ErrorKind.UNAVAILABLE, "There is no search under the connection's base_url; an operator has to look at it."),
    429: (ErrorKind.RATE_LIMITED, "The search instance asks for fewer searches; wait before the next one."),
}


class SearchArguments(TypedDict):
    """What an agent sends to `search`."""

    query: str
    categories: NotRequired[list[Category]]
    language: NotRequired[str]
    time_range: NotRequired[TimeRange]
    safe_search: NotRequired[SafeSearch]
    cursor: NotRequired[str]


def prepare_search(arguments: dict[str, Any]) -> dict[str, Any]:
    """What to look for, where, and which page of it."""
    issues = [*_query_issues(arguments["query"]), *_language_issues(arguments.get("language"))]
    categories = list(dict.fromkeys(arguments.get("categories") or ["general"]))
    if len(categories) > _MAX_CATEGORIES:
        issues.append(ArgumentIssue(path="/categories", rule="max_items", message="Name fewer `categories`."))
    if issues:
        raise ArgumentProblem(*issues)
    prepared = {
        "query": arguments["query"].strip(),
        "categories": categories,
        "language": arguments.get("language"),
        "time_range": arguments.get("time_range"),
        "safe_search": arguments.get("safe_search", "moderate"),
        "cursor": arguments.get("cursor"),
    }
    return _with_page(prepared)


class Search:
    """The operation `search`. A connection is for searching when its option `base_url` says where the instance is."""

    def __init__(self, parts: ApiParts) -> None:
        way = ByForm(lambda text: ":" in text, Basic(pair=str), Bearer())
        vendor = Vendor(base_url="", authorises=WhenGiven(way), judge=lambda reply: by_status(reply, _WORDS))
        self._api = Api(vendor, parts.transport, parts.clock, parts.pauses)

    async def invoke(self, invocation: Invocation) -> Output:
        """A page of results. Raises `AdapterError`."""
        asked = invocation.arguments
        if "base_url" not in invocation.target.options:
            message = "The connection names no search instance; its operator has to set the option base_url."
            raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO)
        reply = await self._api.ask(invocation, Call(path="/search", query=_query(asked)))
        results, silent = _results(reply)
        if not results and silent:
            message = "The search engines behind the instance did not answer; try again later."
            raise reply.error(ErrorKind.UNAVAILABLE, message)
        page = (asked["page"] or 1) + 1
        following = page if results and page <= MAX_PAGES else None
        structured = {
            "results": results,
            "silent_engines": silent,
            "next_cursor": cursor_to(following, "search", asked),
        }
        count = len(results)
        receipt = f"Searched the web; {count} result{'' if count == 1 else 's'}."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)


def option_problems(target: Target) -> list[str]:
    """A sentence for each thing wrong with where a connection searches; empty when it is not for that."""
    return url_problems(target, "base_url", "") if "base_url" in target.options else []


def _query(asked: Mapping[str, Any]) -> dict[str, str | int | bool | list[str] | None]:
    return {
        "q": asked["query"],
        "format": "json",
        "categories": ",".join(_CATEGORIES.get(each, each) for each in asked["categories"]),
        "language": asked["language"],
        "time_range": asked["time_range"],
        "safesearch": _SAFE[asked["safe_search"]],
        "pageno": asked["page"] or 1,
    }


def _results(reply: Reply) -> tuple[list[dict[str, Any]], list[str]]:
    """The results that lead somewhere, and the engines that did not answer."""
    value = reply.value
    if not isinstance(value, dict) or not isinstance(value.get("results"), list):
        malformed(reply)
    found = [result for each in value["results"][:MAX_RESULTS] for result in _result(each)]
    silent = value.get("unresponsive_engines")
    names = [_engine(each) for each in (silent if isinstance(silent, list) else [])[:MAX_RESULTS]]
    return found, [name for name in names if name]


def _result(value: Any) -> Iterator[dict[str, Any]]:
    """One, unless it leads nowhere that a browser goes to."""
    if not isinstance(value, dict) or not isinstance(value.get("url"), str):
        return
    try:
        url = canonical_url(value["url"]).text
    except UrlProblem:
        return
    yield {
        "title": _text(value.get("title"), _MAX_TITLE) or "",
        "url": url,
        "snippet": _text(value.get("content"), _MAX_SNIPPET),
        "engine": _text(value.get("engine"), _MAX_NAME),
        "published": _text(value.get("publishedDate"), _MAX_NAME),
    }


def _engine(value: Any) -> str | None:
    """The name in `[name, why]`."""
    return _text(value[0] if isinstance(value, list) and value else value, _MAX_NAME)


def _text(value: Any, most: int) -> str | None:
    return value[:most] if isinstance(value, str) else None


def _with_page(prepared: dict[str, Any]) -> dict[str, Any]:
    paged = with_page("search", prepared)
    if paged["page"] is not None and not (isinstance(paged["page"], int) and 1 <= paged["page"] <= MAX_PAGES):
        message = "This is no cursor of ours. Use the `next_cursor` of the page before, as it stands."
        raise ArgumentProblem(ArgumentIssue(path="/cursor", rule="cursor", message=message))
    return paged


def _query_issues(query: str) -> Iterator[ArgumentIssue]:
    is_plain = query.isprintable() and not any(0xD800 <= ord(each) < 0xE000 for each in query)
    if not query.strip():
        yield ArgumentIssue(path="/query", rule="min_length", message="`query` must say something.")
    elif not is_plain:
        yield ArgumentIssue(path="/query", rule="characters", message="`query` must not hold control characters.")
    elif len(query) > MAX_QUERY or len(quote(query)) > _MAX_ENCODED:
        message = f"`query` may have {MAX_QUERY} characters at most, fewer where they are not ASCII."
        yield ArgumentIssue(path="/query", rule="max_length", message=message)
    elif _COMMAND.search(query):  # SearXNG would take other engines or categories than those that policy has seen
        message = "A word of `query` that begins with !, : or < is a command; put it into quotation marks."
        yield ArgumentIssue(path="/query", rule="command", message=message)


def _language_issues(language: str | None) -> Iterator[ArgumentIssue]:
    if language is not None and not _LANGUAGE.fullmatch(language):
        message = "`language` is a code such as en or pt-BR."
        yield ArgumentIssue(path="/language", rule="language", message=message)
