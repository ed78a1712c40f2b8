"""The shapes that a secret takes on its way through other people's systems."""

import base64
import html
import json
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import orjson

from adapters.base import Secret

_MIN_FORM = 4
"""A shorter piece of an encoding would be found everywhere. The value itself always counts."""
_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Forms(NamedTuple):
    """Every form of one secret, longest first: as text, as bytes, and as they stand in serialised JSON."""

    text: tuple[str, ...]
    raw: tuple[bytes, ...]
    json: tuple[bytes, ...]


def forms_of(secret: Secret) -> Forms:
    """The forms of a secret, worked out once per value. A dropped secret has none."""
    known = secret.derived.get("forms")
    if isinstance(known, Forms):
        return known
    secret.derived["forms"] = forms = _forms(secret.reveal())
    return forms


def _forms(value: str) -> Forms:
    found = {form for form in _every(value) if len(form) >= _MIN_FORM or form == value}
    text = tuple(sorted(found, key=lambda form: (-len(form), form)))
    raw = tuple(form.encode() for form in text)
    return Forms(text, raw, tuple(dict.fromkeys(orjson.dumps(form)[1:-1] for form in text)))


def _every(value: str) -> Iterator[str]:
    if not value:
        return
    raw = value.encode()
    yield value
    yield raw.hex()
    yield raw.hex().upper()
    yield from _base64(raw)
    yield from _percent(value, raw)
    yield from _escaped(value)


def _base64(raw: bytes) -> Iterator[str]:
    """Standard and URL-safe, whole, and the part that is the same whatever stands before and after."""
    cores = [base64.b64encode(raw), base64.b64encode(raw).rstrip(b"=")]
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw)
        # The first characters hold bits of what stands before, the last one bits of what follows.
        first = (0, 2, 3)[before]
        last = len(encoded) - (0, 3, 2)[(before + len(raw)) % 3]
        cores.append(encoded[first:last])
    for core in cores:
        yield core.decode()
        yield core.translate(_TO_URL_SAFE).decode()


def _percent(value: str, raw: bytes) -> Iterator[str]:
    """As RFC 3986, JavaScript, forms and paths write it, in both cases, with every byte escaped, and escaped
    once more as a URL inside of a URL.
    """
    for form in (
        quote(value, safe=""),
        quote(value, safe="/"),
        quote(value, safe="!'()*"),
        quote(value, safe=";,/?:@&=+$-_.!~*'()#"),
        quote_plus(value),
        "".join(f"%{byte:02X}" for byte in raw),
    ):
        for written in (form, _lower_hex(form)):
            yield written
            yield quote(written, safe="")


def _lower_hex(form: str) -> str:
    first, *rest = form.split("%")
    return first + "".join("%" + part[:2].lower() + part[2:] for part in rest)


def _escaped(value: str) -> Iterator[str]:
    r"""As JSON and HTML write it: with and without \u escapes, in both cases, with and without \/."""
    ascii_only, plain = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    for form in (ascii_only, _upper_u(ascii_only), plain, *_html_safe(ascii_only), *_html_safe(plain)):
        yield form
        yield form.replace("/", "\\/")
        # Once more, for JSON that travels as a string inside JSON.
        yield json.dumps(form)[1:-1]
    yield html.escape(value, quote=False)
    for double in ("&quot;", "&#34;"):
        for single in ("'", "&#x27;", "&#39;", "&#039;", "&apos;"):
            yield html.escape(value, quote=False).replace('"', double).replace("'", single)


def _html_safe(form: str) -> Iterator[str]:
    """JSON that may stand inside a page, as Go, Rails and Django write it, in both cases, quotes as they are or
    escaped as well.
    """
    for signs in ("<>&", "<>&'", "<>&\u2028\u2029"):
        for style in ("04x", "04X"):
            escapes = {ord(sign): f"\\u{ord(sign):{style}}" for sign in signs}
            yield form.translate(escapes)


def _upper_u(form: str) -> str:
    first, *rest = form.split("\\u")
    return first + "".join("\\u" + part[:4].upper() + part[4:] for part in rest)
