"""The charsets that strangers' text is read in."""

import codecs

import pytest

from adapters.charsets import _CODECS, codec_of


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("UTF-8", "utf-8"),
        ("ISO-8859-1", "cp1252"),
        ("iso_8859-15", "iso8859-15"),
        ("ISO-8859-8-I", "iso8859-8"),
        ("Shift_JIS", "cp932"),
        ("Windows-1251", "cp1251"),
        ("unicode_escape", ""),
        ("idna", ""),
        ("x" * 10_000, ""),
        ("", ""),
    ],
)
def test_a_charset_is_known_by_its_names(label: str, codec: str) -> None:
    """However they are written; what is no charset is unknown."""
    assert codec_of(label) == codec


@pytest.mark.parametrize("codec", sorted(set(_CODECS.values())))
def test_every_codec_is_there_and_reads_anything(codec: str) -> None:
    """With what it cannot read left open."""
    assert isinstance(codecs.decode(bytes(range(256)) * 2, codec, "replace"), str)
