"""The process that reads pages: frames in, frames out."""

import io
import json

import pytest
from fakes.web import ARTICLE, ARTICLE_TITLE

from adapters.web import reader
from adapters.web.extraction import LENGTH


def _frame(**asked: object) -> bytes:
    raw = json.dumps(asked).encode()
    return LENGTH.pack(len(raw)) + raw


def _frames(raw: bytes) -> list[dict[str, str]]:
    found = []
    while raw:
        end = LENGTH.size + LENGTH.unpack(raw[: LENGTH.size])[0]
        found.append(json.loads(raw[LENGTH.size : end]))
        raw = raw[end:]
    return found


def test_every_page_is_answered_in_turn() -> None:
    """One frame for each, until the input ends."""
    sink = io.BytesIO()
    page = _frame(html=ARTICLE, url="https://example.com/a", seconds=5.0)
    reader.read_frames(io.BytesIO(page + page), sink)
    assert [answer["title"] for answer in _frames(sink.getvalue())] == [ARTICLE_TITLE, ARTICLE_TITLE]


def test_an_input_that_ends_inside_of_a_frame_ends_the_process() -> None:
    """The gateway is gone; there is nobody to answer."""
    sink = io.BytesIO()
    reader.read_frames(io.BytesIO(b"\0\0"), sink)
    assert sink.getvalue() == b""


def test_a_parser_that_breaks_is_an_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its words come through: they may quote the page."""

    def broken(*_: object, **__: object) -> None:
        raise RecursionError("private")

    monkeypatch.setattr(reader.trafilatura, "bare_extraction", broken)
    assert reader.article("<html>", "https://example.com/") == {}


def test_metadata_is_cut() -> None:
    """A title of a megabyte does not come through."""
    found = reader.article(ARTICLE.replace(ARTICLE_TITLE, "long " * 1000), "https://example.com/")
    assert len(found["title"]) <= reader.MAX_METADATA_CHARACTERS
