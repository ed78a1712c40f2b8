"""What a service answers becomes what a tool brings back: JSON, a text, or nothing but that it was done."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from adapters.base import ErrorKind, Happened
from adapters.charsets import codec_of
from adapters.http_api.options import Part
from adapters.http_api.pointers import ABSENT, Tokens, find, split
from adapters.transport.messages import Response
from adapters.transport.replies import Reply, read_reply

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})")
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

Kind = Literal["json", "text", "none"]
KINDS: tuple[Kind, ...] = ("json", "text", "none")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is made of an answer, as a row says it."""

    kind: Kind
    pointer: Tokens = ()

    def structured(self, reply: Reply) -> Any:
        """The result. Raises `AdapterError` (malformed) when the answer has nothing where it should be.

        Whether an effect happened is not known then: an answer of another shape may be somebody else's.
        """
        if self.kind == "none":
            return {}
        if self.kind == "text":
            return {"text": reply.value}
        value = find(reply.value, self.pointer)
        if value is ABSENT:
            happened = Happened.UNKNOWN if reply.happened is Happened.YES else reply.happened
            message = "The service's answer lacks what the tool should bring back."
            raise reply.error(ErrorKind.MALFORMED, message, happened=happened)
        return value


def read_answer(part: Part, method: str) -> Answer:
    """The answer that an object says. What is wrong with it is noted."""
    usual = "none" if method == "HEAD" else "json"
    kind = part.choice("type", KINDS, usual)
    part.only("type", *(("pointer",) if kind == "json" else ()))
    if method == "HEAD" and kind != "none":
        part.problem("type", "head", "The answer to HEAD has no body, so its type can only be none.")
    tokens = split(part.raw.get("pointer", ""))
    if tokens is None:
        part.problem("pointer", "pointer", "Must be a JSON Pointer into the answer, such as /data.")
    return Answer(next(one for one in KINDS if one == kind), tokens or ())


def read_json(response: Response) -> Reply:
    """The answer with its JSON, in whatever charset it came. Raises `AdapterError`: too_large, malformed."""
    if not _is_good(response):
        return read_nothing(response)
    body = response.body
    if body.startswith(_MARKS) or _codec(response.headers) != "utf-8":
        body = _decoded(response).encode()
    return read_reply(replace(response, body=body))


def read_text(response: Response) -> Reply:
    """The answer with its text. What is no text of its charset becomes U+FFFD. Raises `AdapterError` (too_large)."""
    if not _is_good(response):
        return read_nothing(response)
    return replace(read_reply(replace(response, body=b"")), value=_decoded(response))


def read_nothing(response: Response) -> Reply:
    """The answer without its body: its status is enough."""
    return read_reply(replace(response, body=b"", cut=None))


def _is_good(response: Response) -> bool:
    return 200 <= response.status < 300


def _decoded(response: Response) -> str:
    """A mark at its beginning says more than a header."""
    body = response.body
    marked = {_MARKS[0]: "utf-8-sig", _MARKS[1]: "utf-16", _MARKS[2]: "utf-16"}
    codec = next((marked[mark] for mark in _MARKS if body.startswith(mark)), _codec(response.headers))
    return body.decode(codec, "replace")


def _codec(headers: Mapping[str, str]) -> str:
    match = _CHARSET.search(headers.get("Content-Type", "").lower())
    return (codec_of(match[1]) if match else "") or "utf-8"
