"""Bytes of mail become text, whatever they claim to be. Nothing here raises."""

import binascii
import codecs
import re

from adapters.charsets import codec_of

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")


def decoded(data: bytes, charset: str) -> str:
    """The text; what cannot be decoded becomes U+FFFD, and so does NUL. An unknown charset is taken for UTF-8, or for
    Latin-1 when it is not that either.
    """
    codec = codec_of(charset)
    if not codec or codec == "cp1252":
        # Many a mail that says ASCII or nothing is UTF-8.
        try:
            return data.decode().replace("\0", "\ufffd")
        except UnicodeDecodeError:
            codec = codec or "cp1252"
    if codec == "utf-16-le" and data[:2] in _MARKS:
        codec = "utf-16"
    return data.decode(codec, "replace").replace("\0", "\ufffd")


def transferred(data: bytes, encoding: str) -> bytes:
    """What was sent, from how it was sent: as far as it can be read."""
    folded = encoding.strip().lower()
    if folded == "base64":
        return base64_bytes(data)
    if folded == "quoted-printable":
        return binascii.a2b_qp(data)
    return data


def base64_bytes(data: bytes) -> bytes:
    """The bytes of base64, with whatever does not belong there left out and a broken end cut off."""
    letters = _NOT_BASE64.sub(b"", data.partition(b"=")[0] if b"=" not in data.rstrip(b"=\r\n \t") else data)
    return binascii.a2b_base64(letters[: len(letters) - (len(letters) % 4 == 1)] + b"===")
