"""A vendor's markdown as a few plain sentences for a model. The words stay the vendor's: a person reads them first."""

import html
import re
import unicodedata
from collections.abc import Collection

from gateway.importing.pasted import without_pasted

_READ = 4000
"""Characters of a text that are looked at; what is kept is less."""
_SUBSTITUTES = tuple(
    (re.compile(pattern, re.MULTILINE), to)
    for pattern, to in (
        (r"<!--[^<>]{0,1000}-->", " "),
        (r"!\[[^\[\]\n]{0,300}\]\([^()\n]{0,500}\)", " "),
        (r"\[([^\[\]\n]{1,300})\](\([^()\n]{0,500}\)|\[[^\[\]\n]{0,100}\])", r"\1"),
        (r"</?[A-Za-z][^<>\n]{0,300}>", " "),
        (r"^[ \t]{0,8}(#{1,6}|>|```\w{0,20}|~~~\w{0,20}|[-*_=]{3,80}$)[ \t]{0,8}", ""),
        (r"^[ \t]{0,8}[*+-][ \t]", "- "),
        (r"\*\*\*?|__(?=\w)|(?<=\w)__|~~", ""),
        (r"(?<![\w*`])\*([^*\n]{1,200})\*(?![\w*`])", r"\1"),
        (r"(?<![\w`])_([^_\n]{1,200})_(?![\w`])", r"\1"),
        (r"\\([\\`*_{}\[\]()#+.!>-])", r"\1"),
    )
)
"""What opens a piece of markup cannot stand inside of it: a text full of openings is read once, and not for each."""
_SENTENCE = re.compile(r"[.!?](?=\s|$)")
_NAMED = re.compile(r"`([A-Za-z_][A-Za-z0-9_]*)`")
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def plain_text(value: object, *, most: int, names: Collection[str] = ()) -> str:
    """The text on one line, of at most so many characters, without markup, credentials and what cannot be seen. Only
    these names may stand in backticks. Empty for what is no text.
    """
    if not isinstance(value, str):
        return ""
    text = html.unescape(_visible(value[: min(_READ, 4 * most)]))
    for pattern, to in _SUBSTITUTES:
        text = pattern.sub(to, text)
    text = _quoted(_visible(text), names)
    return cut(without_pasted(" ".join(text.split())), most)


def _visible(text: str) -> str:
    """The text without controls, bidi marks, tags and the like; ends of lines stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_shown(one) for one in text)


def _shown(character: str) -> str:
    if character in "\n\t\r":
        return " " if character == "\t" else "\n"
    return "" if unicodedata.category(character) in _HIDDEN else character


def _quoted(text: str, names: Collection[str]) -> str:
    """Backticks around these names alone: a model takes whatever stands in them for a parameter."""
    parts = _NAMED.split(text)  # texts, and between them names
    parts[::2] = [part.replace("`", "") for part in parts[::2]]
    parts[1::2] = [f"`{part}`" if part in names else part for part in parts[1::2]]
    return "".join(parts)


def cut(text: str, most: int) -> str:
    """At most so many characters: whole sentences when they make up half of it, else with an ellipsis."""
    if len(text) <= most:
        return text
    ends = [match.end() for match in _SENTENCE.finditer(text[:most])]
    if ends and ends[-1] >= most // 2:
        return text[: ends[-1]]
    short = text[:most].rpartition(" ")[0] or text[: most - 1]
    return f"{_even(short)}…"


def _even(text: str) -> str:
    """The text without a backtick whose other half was cut off."""
    return text if text.count("`") % 2 == 0 else text[: text.rindex("`")].rstrip()
