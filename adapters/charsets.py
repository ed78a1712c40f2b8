"""The charsets that strangers' text is read in, by every name that is in use for them.

A list of our own: Python's codecs include ones that are no charset (`unicode_escape`, `idna`), and its search remembers
every name that it did not find, so that strangers' names would fill the memory.
"""

import re

_CODECS = {
    "utf8": "utf-8",
    "unicode11utf8": "utf-8",
    "utf16": "utf-16-le",
    "utf16le": "utf-16-le",
    "utf16be": "utf-16-be",
    **dict.fromkeys(("ascii", "usascii", "latin1", "l1", "iso88591", "windows1252", "cp1252"), "cp1252"),
    **{f"windows{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"cp{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"iso8859{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"iso8859{part}i": f"iso8859-{part}" for part in (6, 8)},
    "iso88599": "cp1254",
    "latin2": "iso8859-2",
    "cyrillic": "iso8859-5",
    "arabic": "iso8859-6",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "ibm866": "cp866",
    "macintosh": "mac-roman",
    **dict.fromkeys(("tis620", "windows874", "iso885911"), "cp874"),
    **dict.fromkeys(("shiftjis", "sjis", "windows31j", "xsjis", "cp932"), "cp932"),
    **dict.fromkeys(("eucjp", "xeucjp"), "euc_jp"),
    "iso2022jp": "iso2022_jp",
    **dict.fromkeys(("euckr", "ksc56011987", "windows949", "cp949"), "cp949"),
    **dict.fromkeys(("gb2312", "gbk", "xgbk", "gb18030", "cp936"), "gb18030"),
    **dict.fromkeys(("big5", "big5hkscs"), "big5hkscs"),
}


def codec_of(label: str) -> str:
    """The codec that a charset's name stands for; empty for a name that nobody knows."""
    return _CODECS.get(re.sub(r"[^a-z0-9]", "", label.lower()), "")
