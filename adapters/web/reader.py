"""A process that reads strangers' pages, started by `adapters.web.extraction` and ended by it at will.

trafilatura matches expressions against a page that take for ever on one made for it, and the interpreter
is held meanwhile: in a thread of the gateway, one page would stop every call.

On standard input and output stand frames, a length of four bytes and JSON: `{"html", "url", "seconds"}` in,
the article's fields out, or `{}` for a page that cannot be read.
"""

import json
import logging
import resource
import signal
import sys
from typing import Any, BinaryIO

import trafilatura

from adapters.web.extraction import LENGTH

MAX_MEMORY_BYTES = 2 * 1024**3
MAX_METADATA_CHARACTERS = 500
_MANY_TAGS = 3000
"""From here on without the second opinion, whose time grows with the square: 20 s for 1 MB made for it."""


def read_frames(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer every page until the input ends. A page that takes longer than it may ends the process."""
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        asked = json.loads(source.read(LENGTH.unpack(head)[0]))
        signal.alarm(int(asked["seconds"]) + 2)  # nobody is left to end this process when the gateway was killed
        answer = json.dumps(article(asked["html"], asked["url"])).encode()
        signal.alarm(0)
        sink.write(LENGTH.pack(len(answer)) + answer)
        sink.flush()


def article(html: str, url: str) -> dict[str, str]:
    """The article's fields, empty strings where nothing was found; `{}` when the page cannot be read."""
    try:
        document: Any = trafilatura.bare_extraction(
            html, url=url, fast=html.count("<") > _MANY_TAGS, with_metadata=True, include_comments=False
        )
    except Exception:  # noqa: BLE001 - whatever a parser does with a stranger's page
        return {}
    return {
        "title": _metadata(document, "title"),
        "author": _metadata(document, "author"),
        "date": _metadata(document, "date"),
        "site": _metadata(document, "sitename"),
        "description": _metadata(document, "description"),
        "language": _metadata(document, "language"),
        "text": getattr(document, "text", None) or "",
    }


def _metadata(document: Any, name: str) -> str:
    return str(getattr(document, name, None) or "")[:MAX_METADATA_CHARACTERS]


def _confine() -> None:
    """Ctrl-C is the gateway's; memory is bounded; a crash leaves no page on the disk."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable()  # what the libraries log quotes pages and addresses


if __name__ == "__main__":
    _confine()
    read_frames(sys.stdin.buffer, sys.stdout.buffer)
