"""What an adapter asks of a vendor's API: a call, and how it is written into a request."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.transport.urls import MAX_URL_CHARACTERS, UrlProblem, WebUrl, canonical_url

_ESCAPED = re.compile(r"(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)+")
_DOTS = re.compile(r"/(?:\.|%2[eE]){1,2}(?:/|$)")
_base = lru_cache(maxsize=1024)(canonical_url)
"""Base URLs are few: connections name them."""

MAX_BYTES = 4 * 1024 * 1024
"""How much of an answer is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a vendor's API. What it carries may be private and is never printed."""

    method: str = "GET"
    path: str
    """What comes after the base URL, beginning with a slash: make it by `path_of` when an argument is in it."""
    query: Mapping[str, str | int | bool | list[str] | None] = field(default_factory=dict, repr=False)
    """A None is left out, a bool is `true` or `false`, a list is one parameter for each."""
    json: Any = field(default=None, repr=False)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    """Instead of `json`: a form in the body."""
    body: bytes | None = field(default=None, repr=False)
    """Instead of both: bytes, whose type stands in `headers`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_read: bool = False
    """It changes nothing, although it is no GET."""
    has_native_key: bool = False
    """It carries a key by which the vendor tells repetitions apart, so it may be repeated."""
    max_bytes: int = MAX_BYTES


def path_of(form: str, *segments: str | int) -> str:
    """The path with each `{}` filled by one segment that stays one, whatever is in it.

    Raises `AdapterError` (invalid) for a segment that is empty or would lead elsewhere (`.`, `..`).
    """
    for segment in segments:
        if str(segment).strip(".") == "":
            message = "An argument that names something at the vendor is empty or only dots."
            raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
    with _fitting():
        return form.format(*(quote(str(segment), safe="") for segment in segments))


def url_of(target: Target, base_url: str, call: Call) -> WebUrl:
    """Where the call goes, for a connection. Raises `AdapterError` (invalid) when that is no URL."""
    query = [
        (name, _plain(one))
        for name, value in call.query.items()
        if value is not None
        for one in (value if isinstance(value, list) else [value])
    ]
    base = str(target.options.get("base_url", base_url)).rstrip("/")
    with _fitting():
        place = call.path + (f"?{urlencode(query, quote_via=quote)}" if query else "")
        return _as_written(_base(base), call.path, place) or canonical_url(f"{base}{place}")


def _as_written(base: WebUrl, path: str, place: str) -> WebUrl | None:
    """Where this leads from here, escaped as it is: in a canonical URL `;`, `:`, `=` and `@` are bare, and a server may
    read more in them than a part of a name. None when this is no path that is escaped and leads straight down.
    """
    text = base.text.removesuffix("/") + place
    if len(text) > MAX_URL_CHARACTERS or "?" in base.text or not _ESCAPED.fullmatch(path) or _DOTS.search(path):
        return None
    return replace(base, text=text, path=base.path.removesuffix("/") + path)


def body_of(call: Call) -> tuple[bytes | None, Mapping[str, str]]:
    """The body, and the header that says what it is. Raises `AdapterError` (invalid) for what cannot be written."""
    if call.body is not None:
        return call.body, {}
    with _fitting():
        if call.form is not None:
            return urlencode(call.form).encode(), {"Content-Type": "application/x-www-form-urlencoded"}
        if call.json is not None:
            return orjson.dumps(call.json), {"Content-Type": "application/json; charset=utf-8"}
    return None, {}


def checked_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers, each of one line. Raises `AdapterError` (invalid): an argument may be in one."""
    if not all(value.isascii() and (value.isprintable() or not value) for value in headers.values()):
        message = "An argument that goes into a header of the request must be printable ASCII of one line."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO)
    return headers


@contextmanager
def _fitting() -> Iterator[None]:
    """What cannot be written into a request is an argument that is wrong: a text that is no Unicode, a number without
    end, a URL without end.
    """
    try:
        yield
    except (UrlProblem, UnicodeError, orjson.JSONEncodeError) as problem:
        message = "The arguments do not fit into a request to the vendor; shorten or correct them."
        raise AdapterError(ErrorKind.INVALID, message, happened=Happened.NO) from problem


def _plain(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
