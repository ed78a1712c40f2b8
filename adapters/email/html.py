"""The text of an HTML mail. One pass from left to right: however it is broken, it takes time in proportion to it.

Nothing is fetched and nothing is run. What a reader would not see is left out, as far as the mail says so in place.
"""

import html
import re

MAX_LINK = 500
MAX_TAGS = 100_000
"""How many tags and signs that look like one are read; what comes after is left out."""
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})")
# A name with a value, a name alone, or words in quotes, in which nothing is a name.
_ATTRIBUTE = re.compile(
    r"(?<![\w:.-])([a-zA-Z][\w:.-]{0,40})\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)|"
    r"(?<=[\s\"'/])([a-zA-Z][\w:.-]{0,40})(?=[\s/>]|$)|\"[^\"]*\"|'[^']*'",
    re.ASCII,
)
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![\d.]*[1-9])|opacity\s*:\s*0(?![\d.]*[1-9])|"
    r"mso-hide\s*:\s*all|max-height\s*:\s*0(?![\d.]*[1-9])|"
    r"(?<![\w-])color\s*:\s*transparent|text-indent\s*:\s*-\s*\d{3}"
)
# Python counts such a number out, or refuses to; nobody needs one.
_ENDLESS = re.compile(r"&#[0-9]{10,};?")
_UPPER = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_RAW = frozenset({"script", "style", "title", "textarea", "noscript", "template", "svg", "math", "object", "iframe"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_LINES = {"br", "hr", "li", "tr", "dt", "dd"}
_BOXES = {"address", "article", "blockquote", "center", "div", "footer", "form", "header", "main", "nav", "section"}
_BLOCKS = frozenset({*_LINES, *_BOXES, "p", "pre", "dl", "ol", "ul", "table", "h1", "h2", "h3", "h4", "h5", "h6"})
_MAX_TAG = 10_000


def text_of(source: str) -> tuple[str, bool]:
    """The visible text: a line for each block, links with where they lead to, and no more than two line breaks; and
    whether that is all, or there were too many tags.
    """
    reader = _Reader(source)
    is_all = reader.read()
    lines = [" ".join(line.split()) for line in "".join(reader.parts).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip(), is_all


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._folded = source.translate(_UPPER)  # `lower` makes some letters longer
        self._at = 0
        self._hidden: tuple[str, int] | None = None
        """The element that hides what is in it, and how many of its name are open."""
        self._link = ""
        self._no_more: set[str] = set()
        self.parts: list[str] = []

    def read(self) -> bool:
        """Whether it came to the end."""
        for _ in range(MAX_TAGS):
            if self._at == len(self._source):
                break
            start = self._find("<")
            self._say(_unescaped(self._source[self._at : start]).replace("\n", " "))
            self._at = start
            if start < len(self._source):
                self._markup()
        return self._at == len(self._source)

    def _markup(self) -> None:
        found = _TAG.match(self._source, self._at)
        if self._source.startswith("<!--", self._at):
            self._skip_past("-->")
        elif found:
            self._tag(found[2].lower(), is_end=bool(found[1]))
        elif self._source[self._at + 1 : self._at + 2] in ("!", "?", "/"):
            self._skip_past(">")
        else:
            self._say("<")
            self._at += 1

    def _tag(self, name: str, *, is_end: bool) -> None:
        end = self._end_of_tag()
        attributes = "" if is_end else self._source[self._at : min(end, self._at + _MAX_TAG)]
        self._at = min(end + 1, len(self._source))
        if not is_end and name in _RAW:
            self._at = self._find(f"</{name}")
            return
        if name not in _VOID:
            self._hide(name, attributes, is_end=is_end)
        if name in _BLOCKS:
            self._say("\n- " if name == "li" and not is_end else "\n")
        elif name in ("td", "th"):
            self._say(" ")
        elif name == "a":
            self._anchor(attributes, is_end=is_end)
        elif name == "img":
            self._say(f" {_attributes(attributes).get('alt', '')} ")

    def _end_of_tag(self) -> int:
        """Where the tag ends: at the first `>` that is in no quotes."""
        at, quote = self._at, ""
        limit = min(len(self._source), at + _MAX_TAG)
        while at < limit:
            sign = self._source[at]
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "\"'" and self._source[at - 1] == "=":
                quote = sign
            elif sign == ">":
                return at
            at += 1
        return self._find(">")

    def _hide(self, name: str, attributes: str, *, is_end: bool) -> None:
        if name == "p" and not is_end and self._hidden == ("p", 1):
            self._hidden = None  # a paragraph ends where the next one begins
        if self._hidden is None:
            folded = attributes.translate(_UPPER)
            told = _attributes(folded) if "style" in folded or "hidden" in folded else {}
            if "hidden" in told or _HIDDEN.search(told.get("style", "").lower()):
                self._hidden = (name, 1)
        elif self._hidden[0] == name:
            count = self._hidden[1] + (-1 if is_end else 1)
            self._hidden = (name, count) if count else None

    def _anchor(self, attributes: str, *, is_end: bool) -> None:
        if not is_end:
            link = _attributes(attributes).get("href", "").strip()
            is_shown = link.lower().startswith(("http://", "https://", "mailto:")) and link.isprintable()
            self._link = link[:MAX_LINK] if is_shown else ""
        elif self._link:
            self._say(f" <{self._link}> ")
            self._link = ""

    def _say(self, text: str) -> None:
        if self._hidden is None and text:
            self.parts.append(text)

    def _skip_past(self, end: str) -> None:
        self._at = min(self._find(end) + len(end), len(self._source))

    def _find(self, what: str) -> int:
        """Where it is found next, or the end. What was not found once is not looked for again."""
        if what in self._no_more:
            return len(self._source)
        at = self._folded.find(what, self._at)
        if at < 0:
            self._no_more.add(what)
            return len(self._source)
        return at


def _attributes(tag: str) -> dict[str, str]:
    """The first of each name counts, as for a reader; one without a value has an empty one."""
    told: dict[str, str] = {}
    for name, value, bare in _ATTRIBUTE.findall(tag):
        told.setdefault((name or bare).lower(), _unescaped(value.strip("\"'")))
    return told


def _unescaped(text: str) -> str:
    return html.unescape(_ENDLESS.sub("\ufffd", text))
