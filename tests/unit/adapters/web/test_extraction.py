"""Articles are found in processes that a bad page cannot hold for ever."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import pytest
from fakes.web import ARTICLE, ARTICLE_TEXT, ARTICLE_TITLE

from adapters.base import AdapterError, ErrorKind
from adapters.web.extraction import Extractor

SECONDS = 20.0
"""Long enough for a process to start on a busy machine."""
ENDLESS = (
    '<html><head><script type="application/ld+json">{"@type":"Article",'
    + '"author":' * 100_000
    + "</script></head><body><p>hello</p></body></html>"
)
"""A page on which one regular expression of the library runs for minutes."""
_ECHO = """
import struct, sys
head = sys.stdin.buffer.read(4)
sys.stdin.buffer.read(struct.unpack('>I', head)[0])
"""


@pytest.fixture
async def extractor() -> AsyncIterator[Extractor]:
    """One of the real kind, closed in the end."""
    made = Extractor()
    yield made
    await made.close()


async def test_an_article_is_found_with_what_is_known_about_it(extractor: Extractor) -> None:
    """Title, author and date; menus and footers are left out."""
    article = await extractor.extract(ARTICLE, "https://example.com/a", SECONDS)
    assert (article.title, article.author, article.date) == (ARTICLE_TITLE, "Ann Keeper", "2026-05-04")
    assert ARTICLE_TEXT in article.text
    assert "Buy carts" not in article.text
    assert "cookies" not in article.text


async def test_a_page_without_an_article_gives_empty_strings(extractor: Extractor) -> None:
    """Nonsense is no error, and the process goes on with the next page."""
    for html in ("", "<", "<html></html>", "plain", "\x01\x02", "<div>" * 5000, "<!--" * 1000, "<![CDATA[", "\ud800"):
        article = await extractor.extract(html, "https://example.com/", SECONDS)
        assert article.title == ""


async def test_a_page_made_to_take_for_ever_stops_nobody_else(extractor: Extractor) -> None:
    """It is given up at its deadline, the loop runs on meanwhile, and the next page is read."""
    await extractor.extract("<html>", "https://example.com/", SECONDS)
    longest, last = 0.0, time.perf_counter()
    task = asyncio.create_task(extractor.extract(ENDLESS, "https://example.com/", 1.0))
    while not task.done():
        await asyncio.sleep(0.01)
        longest, last = max(longest, time.perf_counter() - last), time.perf_counter()
    with pytest.raises(AdapterError) as caught:
        await task
    assert caught.value.kind is ErrorKind.DEADLINE
    assert longest < 0.5
    assert (await extractor.extract(ARTICLE, "https://example.com/a", SECONDS)).title == ARTICLE_TITLE


async def test_when_all_places_are_taken_the_next_is_turned_away(extractor: Extractor) -> None:
    """At once. Cancelled callers give their places back."""
    running = [asyncio.create_task(extractor.extract(ENDLESS, "https://example.com/", SECONDS)) for _ in range(10)]
    await asyncio.sleep(0)
    with pytest.raises(AdapterError) as caught:
        await extractor.extract("<html>", "https://example.com/", SECONDS)
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    for task in running:
        task.cancel()
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    assert (await extractor.extract(ARTICLE, "https://example.com/a", SECONDS)).title == ARTICLE_TITLE


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "sys.stdout.buffer.write(struct.pack('>I', 2**31))",
        "sys.stdout.buffer.write(struct.pack('>I', 2) + b'{}')",
        "sys.stdout.buffer.write(struct.pack('>I', 2) + b'??')",
    ],
)
async def test_a_process_that_gives_no_article_is_said_so(ending: str) -> None:
    """It died of the page, found it unreadable, or answered nonsense."""
    extractor = Extractor((sys.executable, "-c", _ECHO + ending))
    with pytest.raises(AdapterError) as caught:
        await extractor.extract("<html>", "https://example.com/", SECONDS)
    await extractor.close()
    assert caught.value.kind is ErrorKind.MALFORMED


async def test_a_process_that_cannot_start_is_unavailable() -> None:
    """The caller can try again."""
    extractor = Extractor(("/nonexistent/reader",))
    with pytest.raises(AdapterError) as caught:
        await extractor.extract("<html>", "https://example.com/", SECONDS)
    await extractor.close()
    assert caught.value.kind is ErrorKind.UNAVAILABLE


async def test_a_process_is_given_none_of_the_gateways_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers' pages are read there, so nothing of worth is."""
    monkeypatch.setenv("SMTP_PASSWORD", "s3cret")
    tell = """
import json, os
fields = dict.fromkeys(('title', 'author', 'date', 'site', 'description', 'language'), '')
answer = json.dumps({**fields, 'text': repr(dict(os.environ))}).encode()
sys.stdout.buffer.write(struct.pack('>I', len(answer)) + answer)
"""
    extractor = Extractor((sys.executable, "-c", _ECHO + tell))
    article = await extractor.extract("<html>", "https://example.com/", SECONDS)
    await extractor.close()
    assert "PATH" in article.text
    assert "s3cret" not in article.text


async def test_a_closed_extractor_takes_nothing() -> None:
    """It says that it cannot, as often as it is asked."""
    extractor = Extractor()
    await extractor.close()
    for _ in range(20):
        with pytest.raises(AdapterError) as caught:
            await extractor.extract("<html>", "https://example.com/", SECONDS)
        assert caught.value.kind is ErrorKind.UNAVAILABLE
