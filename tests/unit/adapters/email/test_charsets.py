"""Bytes of mail become text."""

import pytest

from adapters.email.charsets import base64_bytes, decoded, transferred


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("Grüße".encode(), "UTF-8", "Grüße"),
        ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
        ("Grüße €".encode("cp1252"), "us-ascii", "Grüße €"),
        ("Grüße".encode(), "us-ascii", "Grüße"),
        ("Grüße".encode(), "", "Grüße"),
        ("Grüße".encode("latin-1"), "", "Grüße"),
        ("привет".encode("koi8-r"), "KOI8-R", "привет"),
        ("日本語".encode("iso2022_jp"), "ISO-2022-JP", "日本語"),
        ("中文".encode("gb18030"), "gb2312", "中文"),
        (b"a\xffb", "utf-8", "a\ufffdb"),
        (b"a\0b", "utf-8", "a\ufffdb"),
        (b"plain", "unicode_escape", "plain"),
        (b"plain", "x" * 4000, "plain"),
        (b"plain", "idna", "plain"),
        (b"5 \xa4", "ISO-8859-15", "5 \u20ac"),
        ("a\u20ac".encode("utf-16"), "utf-16", "a\u20ac"),
        (b"\xfe\xff\0a", "utf-16", "a"),
        (b"a\0", "utf-16le", "a"),
    ],
)
def test_text_is_read_as_far_as_it_can_be(data: bytes, charset: str, text: str) -> None:
    """An unknown charset is UTF-8 or Latin-1; codecs that are no charset are unknown."""
    assert decoded(data, charset) == text


@pytest.mark.parametrize(
    ("data", "encoding", "sent"),
    [
        (b"SGVsbG8=\r\n", "BASE64", b"Hello"),
        (b"SGVs\r\nbG8h", "base64", b"Hello!"),
        (b"SGVsbG", "base64", b"Hell"),
        (b"SGVsb", "base64", b"Hel"),
        (b"", "base64", b""),
        (b"S", "base64", b""),
        (b"=", "base64", b""),
        (b"a=3Db=\r\nc", "quoted-printable", b"a=bc"),
        (b"a=ZZ=", "quoted-printable", b"a=ZZ"),
        (b"as it is", "8bit", b"as it is"),
        (b"as it is", "x-unknown", b"as it is"),
    ],
)
def test_an_encoding_is_undone_as_far_as_it_goes(data: bytes, encoding: str, sent: bytes) -> None:
    """A part that was cut, or is broken, never raises."""
    assert transferred(data, encoding) == sent


@pytest.mark.parametrize("length", range(9))
def test_base64_never_raises(length: int) -> None:
    """Wherever it ends, and whatever else is in it."""
    for data in (b"SGVsbG8h"[:length], b"=" * length, b"\xff" * length, b"A=" * length, b"A\0=" * length):
        base64_bytes(data)
