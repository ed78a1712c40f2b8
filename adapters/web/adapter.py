"""Public web pages: `fetch` brings the text of one, `extract` its article, `screenshot` its picture; `search` finds."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NotRequired, TypedDict

from adapters.base import (
    AdapterError,
    ArgumentIssue,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Operation,
    Output,
    SideEffect,
    Target,
)
from adapters.transport.api import ApiParts
from adapters.transport.dialler import Dialler
from adapters.transport.messages import Request, Response
from adapters.transport.urls import UrlProblem, WebUrl, canonical_host, canonical_url
from adapters.web import screenshot, search
from adapters.web.extraction import Extractor
from adapters.web.text import Page, read_page

DEFAULT_FETCH_BYTES = 200_000
MAX_FETCH_BYTES = 1_000_000
"""The most that anybody may ask for, whatever a row's schema lets in."""
EXTRACT_BYTES = 1_000_000
"""How much of a page is read for its article."""

_USER_AGENT = "tollhouse/0.1"
_ACCEPT = "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.1"
_OPTIONS = frozenset({"user_agent", "base_url", *screenshot.OPTIONS})
_MAX_SHOWN_CHARACTERS = 200


class FetchArguments(TypedDict):
    """What an agent sends to `fetch`."""

    url: str
    max_bytes: NotRequired[int]


class ExtractArguments(TypedDict):
    """What an agent sends to `extract`."""

    url: str


class WebAdapter:
    """Reads pages without any credential. It owns its transport and closes it.

    A connection with the option `base_url` is one to a search instance, whose credential goes there alone.
    """

    name = "web"

    def __init__(self, parts: ApiParts, dialler: Dialler) -> None:
        self._clock = parts.clock
        self._transport = parts.transport
        self._extractor = Extractor()
        self._search = search.Search(parts)
        self._screenshots = screenshot.Screenshots(parts.clock, dialler, _agent)
        self.operations: Mapping[str, Operation] = {each.name: each for each in self._reads()}

    def _reads(self) -> tuple[Operation, ...]:
        read = partial(Operation, side_effect=SideEffect.READ)
        return (
            read(name="fetch", arguments=FetchArguments, prepare=prepare_fetch, invoke=self._fetch),
            read(name="extract", arguments=ExtractArguments, prepare=prepare_extract, invoke=self._extract),
            read(
                name="search",
                arguments=search.SearchArguments,
                prepare=search.prepare_search,
                invoke=self._search.invoke,
            ),
            read(
                name="screenshot",
                arguments=screenshot.ScreenshotArguments,
                prepare=screenshot.prepare_screenshot,
                invoke=self._screenshots.invoke,
            ),
        )

    def check_target(self, target: Target) -> list[str]:
        """A sentence for each thing wrong with a web connection; empty when all is well."""
        problems = [
            f"options: {name!r} is not known; web takes {', '.join(sorted(_OPTIONS))}"
            for name in target.options.keys() - _OPTIONS
        ]
        agent = target.options.get("user_agent", _USER_AGENT)
        if not (isinstance(agent, str) and agent.isascii() and agent.isprintable() and 0 < len(agent) <= 200):
            problems.append("options: user_agent must be 1 to 200 printable ASCII characters")
        problems += [
            f"hosts: {host!r} is not an exact HOST or HOST:PORT" for host in target.hosts if not _is_host(host)
        ]
        return [*problems, *search.option_problems(target), *screenshot.option_problems(target)]

    @property
    def open_circuits(self) -> int:
        """How many web servers are left alone for the moment."""
        return self._transport.open_circuits

    async def close(self) -> None:
        """Let go of connections and processes."""
        await self._extractor.close()
        await self._transport.close()

    async def _fetch(self, invocation: Invocation) -> Output:
        response = await self._get(invocation, invocation.arguments["max_bytes"])
        page = _page(response)
        structured = {
            "url": response.url.text,
            "status": response.status,
            "content_type": page.media_type,
            "text": page.text,
            "redirects": list(response.redirects),
        }
        return _output("Fetched", invocation, response, structured)

    async def _extract(self, invocation: Invocation) -> Output:
        response = await self._get(invocation, EXTRACT_BYTES)
        page = _page(response)
        if not page.is_html:
            raise AdapterError(ErrorKind.INVALID, "The page is not HTML; read it with web_fetch.", happened=Happened.NO)
        remaining = invocation.deadline - self._clock.monotonic()
        article = await self._extractor.extract(page.text, response.url.text, remaining)
        structured = {
            "url": response.url.text,
            "title": article.title,
            "author": article.author,
            "date": article.date,
            "site": article.site,
            "description": article.description,
            "language": article.language,
            "text": article.text,
        }
        return _output(
            "Read the article at" if article.text else "Found no article at", invocation, response, structured
        )

    async def _get(self, invocation: Invocation, max_bytes: int) -> Response:
        target = invocation.target
        request = Request(
            url=WebUrl.of_arguments(invocation.arguments),
            headers={"User-Agent": _agent(target), "Accept": _ACCEPT},
            deadline=invocation.deadline,
            circuit=target.account or target.name,
            max_bytes=max_bytes,
            hosts=target.hosts,
        )
        response = await self._transport.send(request)
        if response.error is not None:
            raise response.error
        return response


def prepare_fetch(arguments: dict[str, Any]) -> dict[str, Any]:
    """The canonical URL with its parts, and how many bytes are wanted."""
    wanted = arguments.get("max_bytes", DEFAULT_FETCH_BYTES)
    if not 1 <= wanted <= MAX_FETCH_BYTES:
        message = f"`max_bytes` must be from 1 to {MAX_FETCH_BYTES}."
        raise ArgumentProblem(ArgumentIssue(path="/max_bytes", rule="range", message=message))
    return {**_prepared_url(arguments), "max_bytes": wanted}


def prepare_extract(arguments: dict[str, Any]) -> dict[str, Any]:
    """The canonical URL with its parts."""
    return _prepared_url(arguments)


def _prepared_url(arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        return canonical_url(arguments["url"]).as_arguments()
    except UrlProblem as problem:
        issue = ArgumentIssue(path="/url", rule=problem.rule, message=f"The URL {problem.message}.")
        raise ArgumentProblem(issue) from problem


def _agent(target: Target) -> str:
    return str(target.options.get("user_agent", _USER_AGENT))


def _page(response: Response) -> Page:
    return read_page(response.headers.get("Content-Type", ""), response.body, is_cut=response.cut is not None)


def _output(done: str, invocation: Invocation, response: Response, structured: dict[str, Any]) -> Output:
    """The receipt names the URL that was asked for; where a stranger's redirects led stands in the output alone."""
    asked = invocation.arguments["url"].partition("?")[0]
    shown = asked if len(asked) <= _MAX_SHOWN_CHARACTERS else asked[:_MAX_SHOWN_CHARACTERS] + "…"
    cut = ", cut" if response.cut else ""
    receipt = f"{done} {shown} ({response.status}, {len(response.body):,} bytes{cut})."
    return Output(structured=structured, receipt=receipt, cut=response.cut, attempts=response.attempts)


def _is_host(text: str) -> bool:
    """Whether this is HOST or HOST:PORT in the one form in which hosts are compared."""
    name, _, port = text.rpartition(":") if text.count(":") == 1 else (text, "", "1")
    try:
        return canonical_host(name) == name and port.isascii() and port.isdigit() and 0 < int(port) <= 65535
    except UrlProblem:
        return False
