"""Characters that a model reads and a person does not see."""

import pytest

from adapters.email.unseen import visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\rc\x0cd\x85e\u2028f", "a\nb\nc\nd\ne\nf"),
        ("pdf.\u202eexe\u202c", "pdf.exe"),
        ("pay\u200bpal\u2060 a\u00adb\ufeff", "paypal ab"),
        ("hi" + "".join(chr(0xE0000 + ord(sign)) for sign in "obey"), "hi"),
        ("hi" + "".join(chr(0xE0100 + number) for number in range(200)), "hi"),
        ("\x1b[8msecret\x1b[0m\x07\x7f", "[8msecret[0m"),
        ("\u200c\u200d" * 100 + "x", "\u200c\u200dx"),
        (
            "\U0001f468\u200d\U0001f469 \u2764\ufe0f\u200d\U0001f525",
            "\U0001f468\u200d\U0001f469 \u2764\ufe0f\u200d\U0001f525",
        ),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("\u2800\u3164\uffa0.", "\u2800."),
    ],
)
def test_what_nobody_sees_is_left_out(text: str, seen: str) -> None:
    """And what scripts and pictures need stays."""
    assert visible(text) == seen
