"""The hash chain: how a line is bound to the one before it.

A line on disk is one JSON object: the fields of its record, then `writer`, `seq`, `prev` and `hash`.
`hash` is the SHA-256, in hex, of the line's bytes up to the comma before it; `prev` is the hash of the
line before, so the digest covers everything that came earlier. Every file begins with a record of kind
`segment` that says which file it continues and up to which byte that file counts.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import orjson

GENESIS = "0" * 64
PREFIX = "audit-"
SUFFIX = ".jsonl"
MAX_LINE_BYTES = 1024 * 1024

_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n\Z')
_TAIL_BYTES = len(b',"hash":""}\n') + 64


class BadLine(Exception):  # noqa: N818 - a finding, not an error of ours
    """Why a line is not the one that was written there."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: whose it is, its last sequence number and hash."""

    writer: str
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file up to which its bytes count."""

    file: str
    offset: int


def file_name(seq: int) -> str:
    """The name of the file whose first line has this sequence number."""
    return f"{PREFIX}{seq:012d}{SUFFIX}"


def first_seq(name: str) -> int:
    """The sequence number in a file's name."""
    return int(name.removeprefix(PREFIX).removesuffix(SUFFIX))


def seal(fields: bytes, head: Head) -> tuple[bytes, Head]:
    """The line that follows `head`, and the new head. `fields` is a JSON object without its last brace."""
    seq = head.seq + 1
    body = b'%b,"writer":"%b","seq":%d,"prev":"%b"' % (fields, head.writer.encode(), seq, head.hash.encode())
    digest = hashlib.sha256(body).hexdigest()
    return b'%b,"hash":"%b"}\n' % (body, digest.encode()), Head(head.writer, seq, digest)


def segment_fields(head: Head, before: Mark | None, *, is_abandoned: bool) -> bytes:
    """The first record of a file, still without its chain fields."""
    continues = None
    if before is not None:
        continues = {"file": before.file, "seq": head.seq, "hash": head.hash, "offset": before.offset}
    return orjson.dumps({"kind": "segment", "continues": continues, "abandoned": is_abandoned})[:-1]


def unseal(raw: bytes) -> tuple[dict[str, Any], Head]:
    """The line's fields, and the head that it makes. Raises `BadLine` when it contradicts itself."""
    if raw[-1:] != b"\n":
        raise BadLine("ends in the middle of a line")
    tail = _TAIL.search(raw, max(0, len(raw) - _TAIL_BYTES))
    if tail is None:
        raise BadLine("has no hash at its end")
    if hashlib.sha256(raw[: tail.start()]).hexdigest().encode() != tail[1]:
        raise BadLine("was changed: its hash does not match its content")
    value = _exactly(raw[:-1])
    writer, seq = value.get("writer"), value.get("seq")
    if not isinstance(writer, str) or type(seq) is not int or not isinstance(value.get("prev"), str):
        raise BadLine("lacks a writer, a sequence number or the previous hash")
    return value, Head(writer, seq, tail[1].decode())


def follow(raw: bytes, head: Head) -> tuple[dict[str, Any], Head]:
    """`unseal`, for the line that must come after `head`. Raises `BadLine`."""
    value, new = unseal(raw)
    if new.writer != head.writer:
        raise BadLine("was written by another gateway")
    if new.seq != head.seq + 1:
        raise BadLine(f"has sequence number {new.seq} where {head.seq + 1} was due: a line was removed, added or moved")
    if value["prev"] != head.hash:
        raise BadLine("does not follow the line before it: that one was changed or replaced")
    return value, new


def _exactly(body: bytes) -> dict[str, Any]:
    """The object. What does not serialise to the very same bytes (a key twice, spaces) was not written here."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadLine("is not JSON") from error
    if not isinstance(value, dict) or orjson.dumps(value) != body:
        raise BadLine("is not written as the gateway writes")
    return value
