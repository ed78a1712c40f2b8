"""Texts that an agent writes and people read: titles, bodies, messages."""

import html
import re

from adapters.github.marks import holds_mark
from adapters.transport.fields import Fields, is_broken

MAX_TITLE = 256
MAX_BODY = 60_000
"""Characters. GitHub takes 65,536, and a mark of ours comes on top."""
MAX_MESSAGE = 10_000

_MENTION = re.compile(r"(?<![A-Za-z0-9_])@([A-Za-z0-9][A-Za-z0-9_-]{0,38}(?:/[A-Za-z0-9._-]{1,100})?)")
_TAG = re.compile(r"<[^<>]*>")
_HALF = re.compile("[\ud800-\udfff]")


def line_of(text: str, path: str, fields: Fields, *, most: int = MAX_TITLE) -> str:
    """A text on one line, without blanks around it."""
    line = text.strip()
    if not 0 < len(line) <= most or is_broken(line):
        fields.issue(path, "line", f"must be one line of 1 to {most} characters without control characters")
    return line


def text_of(text: str, path: str, fields: Fields, *, most: int = MAX_BODY) -> str:
    """A text whose lines end in line feeds. It may be empty."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(plain) > most or "\0" in plain or _HALF.search(plain):
        fields.issue(path, "text", f"must have {most} characters at most, and no NUL among them")
    if holds_mark(plain):
        fields.issue(path, "reserved", "holds a mark that is the gateway's own; leave it out")
    return plain


def filled_text_of(text: str, path: str, fields: Fields, *, most: int = MAX_BODY) -> str:
    """The same; it must say something."""
    plain = text_of(text, path, fields, most=most)
    if not plain.strip():
        fields.issue(path, "empty", "must not be empty")
    return plain


def mentions_in(*texts: str | None) -> list[str]:
    """Who may be told of these texts by `@` in them: logins and `organisation/team`, in lower case.

    GitHub looks for them in what Markdown has made of a text. So entities and tags are taken for what they come to,
    and a name too many is told rather than one too few: one in code, one that is only the beginning of a longer name.
    """
    seen = [html.unescape(text) for text in texts if text and ("@" in text or "&" in text)]
    forms = {form for text in seen for form in (text, _TAG.sub("", text))}
    return sorted({name.lower().rstrip("-_.") for form in forms for name in _MENTION.findall(form)})
