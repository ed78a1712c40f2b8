"""Searching through an instance of SearXNG. No such instance can be installed here: the stub is of our own."""

from typing import Any

import pytest
from fakes.cases.web import RESULT, found
from fakes.vendor import Asked, Said, desk, saying, vendor_server

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened, Invocation, Output, Secret, Target
from adapters.web.search import MAX_PAGES, option_problems, prepare_search

QUERY = {"query": "toll house"}


async def asked_of(answer: Any, arguments: dict[str, Any], **more: Any) -> tuple[Output, list[Asked]]:
    """What came of it, and what the instance was asked."""
    async with vendor_server(answer) as server, desk(server, **more) as at:
        return await at.ask("web", "search", arguments), server.asked


async def failed(answer: Said) -> AdapterError:
    """What it ended with."""
    async with vendor_server(answer) as server, desk(server) as at:
        with pytest.raises(AdapterError) as caught:
            await at.ask("web", "search", QUERY)
    return caught.value


def issues_of(arguments: dict[str, Any]) -> list[tuple[str, str]]:
    """Places and rules of what is wrong."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_search(arguments)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_prepare_fills_in_what_is_left_out() -> None:
    """Moderate, general, the first page."""
    assert prepare_search({"query": " toll house "}) == {
        "query": "toll house",
        "categories": ["general"],
        "language": None,
        "time_range": None,
        "safe_search": "moderate",
        "cursor": None,
        "page": None,
    }


@pytest.mark.parametrize(
    ("arguments", "issue"),
    [
        ({"query": "  "}, ("/query", "min_length")),
        ({"query": "a\nb"}, ("/query", "characters")),
        ({"query": "a\0"}, ("/query", "characters")),
        ({"query": "\ud800"}, ("/query", "characters")),
        ({"query": "x" * 401}, ("/query", "max_length")),
        ({"query": "!files ubuntu"}, ("/query", "command")),
        ({"query": "ubuntu !!g"}, ("/query", "command")),
        ({"query": "ubuntu !!"}, ("/query", "command")),
        ({"query": "ubuntu :german"}, ("/query", "command")),
        ({"query": "<9 ubuntu"}, ("/query", "command")),
        ({"query": "ł" * 300}, ("/query", "max_length")),
        ({**QUERY, "language": "english"}, ("/language", "language")),
        ({**QUERY, "language": "en_GB"}, ("/language", "language")),
        ({**QUERY, "language": "en\n"}, ("/language", "language")),
        ({**QUERY, "categories": [str(each) for each in range(11)]}, ("/categories", "max_items")),
        ({**QUERY, "cursor": "made up"}, ("/cursor", "cursor")),
    ],
)
def test_what_an_instance_would_stumble_over_is_told(arguments: dict[str, Any], issue: tuple[str, str]) -> None:
    """Before it is asked."""
    assert issues_of(arguments) == [issue]


@pytest.mark.parametrize("language", ["en", "pt-BR", "fil"])
def test_a_language_is_a_code(language: str) -> None:
    """With a region or without."""
    assert prepare_search({**QUERY, "language": language})["language"] == language


@pytest.mark.parametrize("query", ['css "!important"', "a != b", "what is c: or a:b", "a < b ! c", "5<6", "is it! so"])
def test_what_is_no_command_to_an_instance_is_looked_for(query: str) -> None:
    """Only the beginning of a word makes one."""
    assert prepare_search({"query": query})["query"] == query


async def test_an_instance_is_asked_for_json() -> None:
    """In its own words."""
    wanted = {
        "query": "a & b",
        "categories": ["news", "social_media", "news"],
        "time_range": "week",
        "safe_search": "strict",
    }
    _, (asked,) = await asked_of(Said(found(RESULT)), wanted, path="/searx")
    assert (asked.method, asked.path) == ("GET", "/searx/search")
    assert asked.query == {
        "q": ["a & b"],
        "format": ["json"],
        "categories": ["news,social media"],
        "time_range": ["week"],
        "safesearch": ["2"],
        "pageno": ["1"],
    }


async def test_results_are_canonical_and_bounded() -> None:
    """What leads nowhere that can be gone to is left out."""
    odd = [
        {**RESULT, "url": url}
        for url in ("javascript:alert(1)", "http://user:pass@x.example/", "ftp://x.example/", "", None, "https://[/")
    ]
    long = {"url": "HTTPS://Example.COM:443/a/../b", "title": "t" * 1000, "content": "c" * 9999, "engine": 5}
    output, _ = await asked_of(Said(found(*odd, None, "x", {}, RESULT, long)), QUERY)
    first, second = output.structured["results"]
    assert first == {
        "title": "Toll houses of the north",
        "url": "https://example.com/toll?b=1&a=2",
        "snippet": "Where they stood, and what was written down.",
        "engine": "duckduckgo",
        "published": "2026-05-04T00:00:00",
    }
    assert (second["url"], len(second["title"]), len(second["snippet"])) == ("https://example.com/b", 300, 1000)
    assert (second["engine"], second["published"]) == (None, None)
    assert output.receipt == "Searched the web; 2 results."


async def test_pages_follow_one_another_to_an_end() -> None:
    """By the instance's own count; an empty page is the last, and the tenth."""
    async with vendor_server(saying(Said(found(RESULT)), Said(found(RESULT)), Said(found()))) as server:
        async with desk(server) as at:
            cursor, cursors = None, []
            for _ in range(3):
                more = {} if cursor is None else {"cursor": cursor}
                cursor = (await at.ask("web", "search", {**QUERY, **more})).structured["next_cursor"]
                cursors.append(cursor)
        assert [asked.query["pageno"] for asked in server.asked] == [["1"], ["2"], ["3"]]
    assert cursors[2] is None
    assert issues_of({"query": "another", "cursor": cursors[0]}) == [("/cursor", "other_list")]


async def test_nobody_goes_on_for_ever() -> None:
    """After ten pages the list ends, and no cursor leads beyond."""
    async with vendor_server(Said(found(RESULT))) as server, desk(server) as at:
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            more = {} if cursor is None else {"cursor": cursor}
            cursor = (await at.ask("web", "search", {**QUERY, **more})).structured["next_cursor"]
            pages += 1
    assert pages == MAX_PAGES


async def test_silent_engines_are_told() -> None:
    """Something may be missing then."""
    silent = [["google", "timeout"], ["bing", "CAPTCHA"], "odd", None, []]
    output, _ = await asked_of(Said(found(RESULT, silent=silent)), QUERY)
    assert output.structured["silent_engines"] == ["google", "bing", "odd"]


async def test_nothing_found_is_not_nothing_asked() -> None:
    """An empty answer of engines that answered is one; of engines that did not, it is none."""
    output, _ = await asked_of(Said(found()), QUERY)
    assert output.structured == {"results": [], "silent_engines": [], "next_cursor": None}
    error = await failed(Said(found(silent=[["google", "timeout"]])))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


@pytest.mark.parametrize(
    ("answer", "kind", "word"),
    [
        (Said(status=403, body=b"<html>Forbidden"), ErrorKind.FORBIDDEN, "json"),
        (Said(status=429, body=b"Too Many"), ErrorKind.RATE_LIMITED, "fewer"),
        (Said(status=404), ErrorKind.UNAVAILABLE, "base_url"),
        (Said(status=400), ErrorKind.INVALID, "language"),
        (Said(body=b"<html>A page of results"), ErrorKind.MALFORMED, "read"),
        (Said({"results": None}), ErrorKind.MALFORMED, "lacks"),
        (Said([]), ErrorKind.MALFORMED, "lacks"),
    ],
)
async def test_what_goes_wrong_says_what_to_do(answer: Said, kind: ErrorKind, word: str) -> None:
    """To the agent, or to the operator of the instance."""
    error = await failed(answer)
    assert (error.kind, word in error.message) == (kind, True)


@pytest.mark.parametrize(
    ("credential", "header"),
    [(None, None), (Secret("t0ken"), "Bearer t0ken"), (Secret("user:pass"), "Basic dXNlcjpwYXNz")],
)
async def test_an_instance_may_want_proof(credential: Secret | None, header: str | None) -> None:
    """A token, a name with a password, or nothing."""
    async with vendor_server(Said(found(RESULT))) as server, desk(server) as at:
        invocation = Invocation(
            arguments=prepare_search(QUERY),
            target=at.target,
            credential=credential,
            deadline=at.clock.monotonic() + 5,
            effect_id="e",
        )
        await at.adapters["web"].operations["search"].invoke(invocation)
    assert server.asked[0].headers.get("Authorization") == header


async def test_a_connection_without_an_instance_cannot_search() -> None:
    """It says who has to do what."""
    async with vendor_server(Said(found(RESULT))) as server, desk(server) as at:
        invocation = Invocation(
            arguments=prepare_search(QUERY),
            target=Target(name="web"),
            credential=None,
            deadline=at.clock.monotonic() + 5,
            effect_id="e",
        )
        with pytest.raises(AdapterError) as caught:
            await at.adapters["web"].operations["search"].invoke(invocation)
    assert (caught.value.kind, server.asked) == (ErrorKind.UNAVAILABLE, [])


@pytest.mark.parametrize(
    ("options", "hosts", "word"),
    [
        ({"base_url": "http://searx.example"}, ("searx.example",), "https"),
        ({"base_url": "https://searx.example"}, (), "hosts"),
        ({"base_url": "https://searx.example/?q="}, ("searx.example",), "query"),
        ({"base_url": 5}, ("searx.example",), "base_url"),
    ],
)
def test_a_wrong_instance_is_told(options: dict[str, Any], hosts: tuple[str, ...], word: str) -> None:
    """In one sentence; a connection that names none is for reading pages."""
    (sentence,) = option_problems(Target(name="s", options=options, hosts=hosts))
    assert word in sentence
    assert option_problems(Target(name="s")) == []
    good = {"base_url": "https://searx.example/search-here"}
    assert option_problems(Target(name="s", options=good, hosts=("searx.example",))) == []
