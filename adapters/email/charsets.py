"""Bytes of mail become text, whatever they claim to be. Nothing here raises."""

import binascii
import re

# A list of our own: Python's codecs include ones that are no charset (`unicode_escape`, `idna`), and its search
# remembers every name that it did not find, so that strangers' names would fill the memory.
_LABELS = {
    "utf-8": "utf8 unicode11utf8",
    "utf-16": "utf16",
    "cp1252": "ascii usascii latin1 l1 iso88591 iso885915 windows1252 cp1252",
    "cp1254": "iso88599 windows1254",
    "iso8859-2": "iso88592 latin2",
    "iso8859-3": "iso88593",
    "iso8859-4": "iso88594",
    "iso8859-5": "iso88595 cyrillic",
    "iso8859-6": "iso88596 iso88596i arabic",
    "iso8859-7": "iso88597 greek",
    "iso8859-8": "iso88598 iso88598i hebrew",
    "iso8859-10": "iso885910",
    "iso8859-13": "iso885913",
    "iso8859-14": "iso885914",
    "iso8859-16": "iso885916",
    "cp1250": "windows1250 cp1250",
    "cp1251": "windows1251 cp1251",
    "cp1253": "windows1253",
    "cp1255": "windows1255",
    "cp1256": "windows1256",
    "cp1257": "windows1257",
    "cp1258": "windows1258",
    "koi8-r": "koi8r",
    "koi8-u": "koi8u",
    "cp874": "tis620 windows874 iso885911",
    "cp932": "shiftjis sjis windows31j cp932",
    "euc_jp": "eucjp",
    "iso2022_jp": "iso2022jp",
    "cp949": "euckr ksc56011987 windows949 cp949",
    "gb18030": "gb2312 gbk gb18030 cp936",
    "big5hkscs": "big5 big5hkscs",
}
_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")


def decoded(data: bytes, charset: str) -> str:
    """The text; what cannot be decoded becomes U+FFFD, and so does NUL. An unknown charset is taken for UTF-8, or for
    Latin-1 when it is not that either.
    """
    codec = _CODECS.get(re.sub(r"[^a-z0-9]", "", charset.lower()), "")
    if not codec or codec == "cp1252":
        # Many a mail that says ASCII or nothing is UTF-8.
        try:
            return data.decode().replace("\0", "\ufffd")
        except UnicodeDecodeError:
            codec = codec or "cp1252"
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
