"""What came from outside cannot do anything to a terminal."""

import io
import json
import unicodedata

import pytest

from gateway.cli.harmless import harmless, harmless_json
from gateway.cli.terminal import terminal

HOSTILE = {
    "ansi colour": "\x1b[31mred\x1b[0m",
    "cursor up and erase": "\x1b[1A\x1b[2Kok: approved",
    "window title": "\x1b]0;owned\x07",
    "hyperlink": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "one-byte CSI": "\x9b31m",
    "bell and backspace": "paid 10\x08\x08\x08\x07",
    "lone CR": "denied\rallowed",
    "NUL and DEL": "a\x00b\x7f",
    "vertical tab, form feed": "a\x0b\x0cb",
    "NEL and separators": "a\x85b\u2028c\u2029d",
    "bidi override": "user\u202egpj.exe",
    "bidi isolates and marks": "\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "zero width": "pay\u200bpal\u200c\u200d\u2060\ufeff",
    "soft hyphen": "pass\u00adword",
    "tag characters": "hi\U000e0041\U000e0042",
    "variation selectors": "a\ufe0f\U000e0101",
    "fillers": "\u3164\u115f\u2800\uffa0\u034f",
    "private use": "\ue0b0\U000f0000",
    "lone surrogate": "a\ud800b",
    "non-character": "\uffff",
    "interlinear annotation": "\ufff9a\ufffab\ufffb",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("lines", [True, False])
def test_nothing_that_acts_or_hides_is_left(text: str, lines: bool) -> None:
    """Only visible characters are left, and the hostile ones show as escapes."""
    shown = harmless(text, lines=lines)
    assert "\\" in shown
    assert all(unicodedata.category(character)[0] not in "CZ" or character in " \n\t" for character in shown)
    shown.encode("utf-8")


def test_each_hostile_character_is_named() -> None:
    """A reader sees which character it was."""
    assert harmless("\x1b[2J") == "\\x1b[2J"
    assert harmless("a\u202eb") == "a\\u202eb"
    assert harmless("\U000e0041") == "\\U000e0041"
    assert harmless("a\rb") == "a\\rb"


def test_line_breaks_stay_only_where_lines_are_wanted() -> None:
    """One cell is one line; a text may have many, and CRLF is one break."""
    assert harmless("a\r\nb\tc", lines=True) == "a\nb\tc"
    assert harmless("a\r\nb\tc") == "a\\nb c"


def test_honest_text_of_any_language_stays() -> None:
    """Letters, marks and emoji of the world are not hostile."""
    for text in ("Zażółć gęślą jaźń", "日本語のテキスト", "שלום", "नमस्ते", "50 € → 🙂", "e\u0301"):
        assert harmless(text) == text


def test_unusual_spaces_become_plain_ones() -> None:
    """A no-break space is a space."""
    assert harmless("a\u00a0b\u3000c") == "a b c"


def test_piled_up_marks_are_escaped() -> None:
    """Marks do not grow over the neighbouring lines."""
    shown = harmless("a" + "\u0301" * 50)
    assert sum(unicodedata.combining(character) > 0 for character in shown) == 4


def test_long_text_is_linear() -> None:
    """A megabyte of controls takes no more than its escapes."""
    assert len(harmless("\x1b" * 250_000)) == 1_000_000


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_stays_the_same_value_in_printable_ascii(text: str) -> None:
    """A script reads what was there, and a terminal shows no more than ASCII."""
    for raw in (json.dumps({"a": text}), json.dumps({"a": text}, ensure_ascii=False)):
        shown = harmless_json(raw)
        assert shown.isascii()
        assert shown.isprintable()
        assert json.loads(shown) == json.loads(raw)


def test_json_keeps_the_spelling_of_numbers() -> None:
    """A number that no float holds is passed on as it was."""
    assert harmless_json('{"n":9007199254740993.10,"é":1e400}') == '{"n":9007199254740993.10,"\\u00e9":1e400}'


def test_what_is_not_json_comes_out_harmless_too() -> None:
    """A corrupt line cannot act either."""
    assert harmless_json('{"a": \x1b[31m\x7f\x9b') == '{"a": \\u001b[31m\\u007f\\u009b'


@pytest.mark.parametrize(
    "markup", ["[bold red]x[/]", "[link=http://evil.example]x[/link]", "[/]", ":smiley:", "[@click=x]y[/]"]
)
def test_rich_prints_markup_as_it_is(markup: str) -> None:
    """The consoles of this command interpret no markup, in plain prints and in tables."""
    file = io.StringIO()
    console = terminal(file)
    console.print(harmless(markup))
    assert file.getvalue() == f"{markup}\n"
