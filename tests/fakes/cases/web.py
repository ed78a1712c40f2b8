"""Operations on the web beside reading pages: an instance of SearXNG, and a browser."""

from typing import Any

from fakes.cases.base import Case, api
from fakes.vendor import Asked, Said

RESULT = {
    "url": "https://example.com/toll?b=1&a=2#top",
    "title": "Toll houses of the north",
    "content": "Where they stood, and what was written down.",
    "engine": "duckduckgo",
    "parsed_url": ["https", "example.com", "/toll", "", "b=1&a=2", "top"],
    "template": "default.html",
    "engines": ["duckduckgo", "brave"],
    "positions": [1, 3],
    "publishedDate": "2026-05-04T00:00:00",
    "score": 2.67,
    "category": "general",
}


def found(*results: Any, silent: Any = ()) -> dict[str, Any]:
    """What an instance of SearXNG answers."""
    return {
        "query": "toll house",
        "number_of_results": 0,
        "results": list(results),
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": ["toll house cookies"],
        "unresponsive_engines": list(silent),
    }


def _searx(asked: Asked) -> Said:
    """One that is set up to give JSON."""
    assert asked.query["format"] == ["json"]
    return Said(found(RESULT, {**RESULT, "url": "https://example.org/"}, silent=[["google", "timeout"]]))


CASES: tuple[Case, ...] = (
    api("web", "search", {"query": "toll house", "time_range": "year", "language": "en"}, _searx),
    Case("web", "screenshot", lambda port: {"url": f"http://127.0.0.1:{port}/", "width": 800}, connects=False),
)
