"""Bytes of a page become text, or it is said that they are not text."""

import codecs
import re
from dataclasses import dataclass, field

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.charsets import codec_of

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")
_TEXT_TYPE = re.compile(
    r"text/.+|application/(?:json|xml|javascript|ecmascript|yaml|x-yaml|x-ndjson|toml)|.+\+(?:json|xml|yaml)"
)
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([a-z0-9_.:-]{1,40})")
_DECLARED = re.compile(rb"(?:<meta[^>]{1,200}?charset|<\?xml[^>]{1,200}?encoding)\s*=\s*[\"']?([a-zA-Z0-9_.:-]{1,40})")
_DECLARED_WITHIN_BYTES = 1024
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A body as text. `media_type` is empty when the site did not give a proper one."""

    media_type: str
    is_html: bool
    text: str = field(repr=False)


def read_page(content_type: str, body: bytes, *, is_cut: bool) -> Page:
    """The body as text; what cannot be decoded becomes U+FFFD, and so does NUL.

    Raises `AdapterError` (invalid) for what is not text. A character that a cut went through is dropped.
    """
    declared = content_type.lower()
    media_type = declared.partition(";")[0].strip()
    if not _MEDIA_TYPE.fullmatch(media_type):
        media_type = ""
    is_text = bool(_TEXT_TYPE.fullmatch(media_type)) if media_type else b"\0" not in body[:_DECLARED_WITHIN_BYTES]
    if not is_text:
        raise AdapterError(
            ErrorKind.INVALID,
            "The page is not text; only text, HTML, JSON, XML and the like can be read.",
            happened=Happened.NO,
        )
    bom, codec = _codec(declared, body)
    decoder = codecs.getincrementaldecoder(codec)("replace")
    text = decoder.decode(body[len(bom) :], final=not is_cut).replace("\0", "\ufffd")
    return Page(
        media_type=media_type, is_html=media_type in _HTML_TYPES or _looks_like_html(media_type, text), text=text
    )


def _codec(content_type: str, body: bytes) -> tuple[bytes, str]:
    """The byte order mark and the codec: by the mark, the header, the document's own word, or UTF-8."""
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return bom, codec
    in_header = _CHARSET.search(content_type)
    in_body = _DECLARED.search(body[:_DECLARED_WITHIN_BYTES])
    for label in (in_header and in_header[1], in_body and in_body[1].decode("ascii").lower()):
        codec = codec_of(label or "")
        if codec:
            return b"", codec
    return b"", "utf-8"


def _looks_like_html(media_type: str, text: str) -> bool:
    return not media_type and "<html" in text[:_DECLARED_WITHIN_BYTES].lower()
