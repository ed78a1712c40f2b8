"""Articles are found in threads that a bad page cannot hold for ever."""

import asyncio
import logging

import pytest
from fakes.web import ARTICLE, ARTICLE_TEXT, ARTICLE_TITLE

from adapters.base import AdapterError, ErrorKind
from adapters.web import extraction
from adapters.web.extraction import Extractor


async def test_an_article_is_found_with_what_is_known_about_it() -> None:
    """Title, author and date; menus and footers are left out."""
    extractor = Extractor()
    article = await extractor.extract(ARTICLE, "https://example.com/a", 10.0)
    extractor.close()
    assert (article.title, article.author, article.date) == (ARTICLE_TITLE, "Ann Keeper", "2026-05-04")
    assert ARTICLE_TEXT in article.text
    assert "Buy carts" not in article.text
    assert "cookies" not in article.text


@pytest.mark.parametrize(
    "html",
    ["", "<", "<html></html>", "plain", "\x01\x02", "<div>" * 5000, "<!--" * 1000, "<![CDATA[", "&#x110000;" * 100],
)
async def test_a_page_without_an_article_gives_empty_strings(html: str) -> None:
    """Nonsense is no error."""
    extractor = Extractor()
    article = await extractor.extract(html, "https://example.com/", 10.0)
    extractor.close()
    assert article.title == ""


async def test_metadata_is_cut() -> None:
    """A title of a megabyte does not come through."""
    extractor = Extractor()
    html = ARTICLE.replace(ARTICLE_TITLE, "long " * 1000)
    article = await extractor.extract(html, "https://example.com/", 10.0)
    extractor.close()
    assert len(article.title) <= 500


class _Hold:
    """Extraction that waits until a test lets go."""

    def __init__(self) -> None:
        import threading

        self.released = threading.Event()
        self.started = threading.Semaphore(0)

    def __call__(self, *_: object, **__: object) -> None:
        self.started.release()
        self.released.wait(10)


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> _Hold:
    """Every page takes until it is released."""
    held = _Hold()
    monkeypatch.setattr(extraction.trafilatura, "bare_extraction", held)
    return held


async def test_a_page_that_takes_too_long_is_given_up(hold: _Hold) -> None:
    """At the deadline, although its thread goes on."""
    extractor = Extractor()
    with pytest.raises(AdapterError) as caught:
        await extractor.extract("<html>", "https://example.com/", 0.05)
    hold.released.set()
    extractor.close()
    assert caught.value.kind is ErrorKind.DEADLINE


async def test_when_all_places_are_taken_the_next_is_turned_away(hold: _Hold) -> None:
    """At once; afterwards there is room again."""
    extractor = Extractor()
    running = [asyncio.create_task(extractor.extract("<html>", "https://example.com/", 10.0)) for _ in range(10)]
    await asyncio.to_thread(hold.started.acquire)
    with pytest.raises(AdapterError) as caught:
        await extractor.extract("<html>", "https://example.com/", 10.0)
    assert caught.value.kind is ErrorKind.UNAVAILABLE
    hold.released.set()
    await asyncio.gather(*running)
    await extractor.extract("<html>", "https://example.com/", 10.0)
    extractor.close()


async def test_cancelled_waiters_give_their_places_back(hold: _Hold) -> None:
    """Cancellation passes, and a page that had not begun never does."""
    extractor = Extractor()
    running = [asyncio.create_task(extractor.extract("<html>", "https://example.com/", 10.0)) for _ in range(10)]
    await asyncio.to_thread(hold.started.acquire)
    for task in running:
        task.cancel()
    outcomes = await asyncio.gather(*running, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    hold.released.set()
    await extractor.extract("<html>", "https://example.com/", 10.0)
    extractor.close()


async def test_a_parser_that_breaks_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its words."""

    def broken(*_: object, **__: object) -> None:
        raise RecursionError("private")

    monkeypatch.setattr(extraction.trafilatura, "bare_extraction", broken)
    extractor = Extractor()
    with pytest.raises(AdapterError) as caught:
        await extractor.extract("<html>", "https://example.com/", 10.0)
    extractor.close()
    assert caught.value.kind is ErrorKind.MALFORMED
    assert "private" not in str(caught.value)


async def test_a_closed_extractor_takes_nothing() -> None:
    """It says that it cannot, as often as it is asked."""
    extractor = Extractor()
    extractor.close()
    for _ in range(20):
        with pytest.raises(AdapterError) as caught:
            await extractor.extract("<html>", "https://example.com/", 10.0)
        assert caught.value.kind is ErrorKind.UNAVAILABLE


async def test_nothing_of_a_page_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """What the libraries would log quotes strangers."""
    extractor = Extractor()
    with caplog.at_level(logging.DEBUG):
        await extractor.extract("<html><body>s3cret", "https://example.com/?key=s3cret", 10.0)
    extractor.close()
    assert "s3cret" not in caplog.text
