"""The main text of a page, by trafilatura, in threads that cannot hold up the gateway."""

import asyncio
import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import trafilatura

from adapters.base import AdapterError, ErrorKind, Fault, Happened

_WORKERS = 2
_WAITING = 8
_MAX_METADATA_CHARACTERS = 500
_MANY_TAGS = 3000
"""From here on without the second opinion, whose time grows with the square: 20 s for 1 MB made for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """What was found; empty strings where nothing was."""

    title: str = field(repr=False)
    author: str = field(repr=False)
    date: str
    site: str = field(repr=False)
    description: str = field(repr=False)
    language: str
    text: str = field(repr=False)


class Extractor:
    """Two threads and a short queue. A page that takes too long loses its caller and then its thread's result."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(_WORKERS + _WAITING)
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="extract")
        # What these log quotes pages and addresses.
        for name in ("trafilatura", "htmldate", "courlan", "justext"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    async def extract(self, html: str, url: str, seconds: float) -> Article:
        """The page's article, within so many seconds.

        Raises `AdapterError`: deadline, unavailable when all places are taken, malformed when the page
        cannot be read.
        """
        if not self._places.acquire(blocking=False):
            raise _busy()
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                return await asyncio.wrap_future(self._submit(html, url))
        except TimeoutError as error:
            raise AdapterError(
                ErrorKind.DEADLINE,
                "The page took too long to read; fetch it with web_fetch instead.",
                happened=Happened.NO,
                fault=Fault.TIMEOUT,
            ) from error

    def close(self) -> None:
        """Drop what waits; what runs comes to its own end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, html: str, url: str) -> "Future[Article]":
        try:
            future = self._pool.submit(_extract, html, url)
        except RuntimeError as error:  # closed
            self._places.release()
            raise _busy() from error
        future.add_done_callback(lambda _: self._places.release())
        return future


def _extract(html: str, url: str) -> Article:
    try:
        document: Any = trafilatura.bare_extraction(
            html, url=url, fast=html.count("<") > _MANY_TAGS, with_metadata=True, include_comments=False
        )
    except Exception as error:  # whatever a parser does with a stranger's page
        raise AdapterError(
            ErrorKind.MALFORMED,
            "The page cannot be read as HTML; fetch it with web_fetch instead.",
            happened=Happened.NO,
            fault=Fault.MALFORMED,
        ) from error
    return Article(
        title=_metadata(document, "title"),
        author=_metadata(document, "author"),
        date=_metadata(document, "date"),
        site=_metadata(document, "sitename"),
        description=_metadata(document, "description"),
        language=_metadata(document, "language"),
        text=getattr(document, "text", None) or "",
    )


def _metadata(document: Any, name: str) -> str:
    return str(getattr(document, name, None) or "")[:_MAX_METADATA_CHARACTERS]


def _busy() -> AdapterError:
    return AdapterError(
        ErrorKind.UNAVAILABLE,
        "Too many pages are being read at once; try again in a moment.",
        happened=Happened.NO,
        fault=Fault.REFUSED,
    )
