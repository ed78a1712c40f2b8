"""What came from outside, made fit for a terminal: text that cannot move the cursor, change colours,
hide, reorder or imitate what the gateway says.
"""

import re
import unicodedata

MOST_MARKS = 4
"""Combining marks on one character; more would grow over the lines around it."""

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Controls, formats (bidi overrides, zero width, tags), unassigned, private, surrogates, separators."""

_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b\u180c\u180d\u180f"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Characters of harmless categories that show nothing: fillers and variation selectors."""

_PLAIN = re.compile(r"[ -~]*\Z")


def harmless(text: str, *, lines: bool = False) -> str:
    """The text with every character that is not plainly visible written as an escape.

    Line breaks and tabs stay when `lines` is true (CRLF becomes one break, a lone CR is escaped);
    otherwise a break is escaped too and a tab shows as a space. The result says nothing to rich only if it is
    printed without markup, which is what every console of this command does.
    """
    if _PLAIN.match(text):
        return text
    shown: list[str] = []
    marks = 0
    for character in text.replace("\r\n", "\n"):
        marks = marks + 1 if unicodedata.combining(character) else 0
        shown.append(_shown(character, lines=lines, is_crowded=marks > MOST_MARKS))
    return "".join(shown)


def harmless_json(text: str) -> str:
    """JSON text in plain ASCII on one line: what is beyond it becomes an escape that means the same.

    In valid JSON such characters stand inside strings only, so that the value and the spelling of its
    numbers stay. What is not valid JSON comes out just as harmless.
    """
    if _PLAIN.match(text):
        return text
    return "".join(character if " " <= character <= "~" else _json_escape(character) for character in text)


def _shown(character: str, *, lines: bool, is_crowded: bool) -> str:
    if character in "\n\t":
        return character if lines else {"\n": "\\n", "\t": " "}[character]
    if is_crowded or character in _BLANK or unicodedata.category(character) in _UNSAFE_CATEGORIES:
        return _escape(character)
    return " " if character.isspace() else character


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\r":
        return "\\r"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    code = ord(character)
    if character in "\r\n\t":
        return " "  # white space between tokens; a string cannot hold it bare
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
