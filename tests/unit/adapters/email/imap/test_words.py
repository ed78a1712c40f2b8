"""Words of ours in a command."""

import base64
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.email.imap.words import MAX_QUOTED, Literal, day, mailbox, modified_utf7, string


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("plain", b'"plain"'),
        ("", b'""'),
        ('a"b', b'"a\\"b"'),
        ("a\\", b'"a\\\\"'),
        ('" OR ALL "', b'"\\" OR ALL \\""'),
        ("{5}", b'"{5}"'),
        ("a\r\nT9 LOGOUT", Literal(b"a\r\nT9 LOGOUT")),
        ("ü", Literal("ü".encode())),
        ("x" * (MAX_QUOTED + 1), Literal(b"x" * (MAX_QUOTED + 1))),
    ],
)
def test_a_string_cannot_end_itself(text: str, word: bytes | Literal) -> None:
    """What is not short and plain goes with its length before it."""
    assert string(text) == word


@given(st.text(max_size=50))
def test_no_text_gets_out_of_its_quotes(text: str) -> None:
    """It is one quoted string, or a literal, or refused."""
    try:
        word = string(text)
    except ValueError:
        assert "\0" in text or not text.isascii()
        return
    if isinstance(word, bytes):
        assert word[1:-1].replace(b"\\\\", b"").replace(b'\\"', b"").count(b'"') == 0
        assert not {b"\r", b"\n"} & {word[at : at + 1] for at in range(len(word))}
        assert word.startswith(b'"')
        assert word.endswith(b'"')


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_string_can_hold_is_refused(text: str) -> None:
    """NUL, and half a character."""
    with pytest.raises(ValueError):  # noqa: PT011 - of whatever kind
        string(text)


@pytest.mark.parametrize(
    ("name", "coded"),
    [
        ("INBOX", "INBOX"),
        ("Entwürfe", "Entw&APw-rfe"),
        ("R&D", "R&-D"),
        ("~peter/mail/台北/日本語", "~peter/mail/&U,BTFw-/&ZeVnLIqe-"),
        ("😀", "&2D3eAA-"),
        ("ü&", "&APw-&-"),
    ],
)
def test_a_folder_is_named_in_modified_utf7(name: str, coded: str) -> None:
    """As RFC 3501 has it."""
    assert modified_utf7(name) == coded
    assert mailbox(name) == b'"' + coded.encode() + b'"'


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_modified_utf7_says_the_same_name(name: str) -> None:
    """In ASCII, from which it can be read again."""
    coded = modified_utf7(name)
    assert coded.isascii()
    parts = coded.split("&")
    read = parts[0]
    for part in parts[1:]:
        letters, _, rest = part.partition("-")
        data = base64.b64decode(letters.replace(",", "/") + "===") if letters else b"\0&"
        read += data.decode("utf-16-be") + rest
    assert read == name


def test_a_day_is_written_in_english() -> None:
    """Without zeros before it."""
    assert day(date(2026, 2, 1)) == b"1-Feb-2026"
