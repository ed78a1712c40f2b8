"""What is in the journal: its records on disk, and what of them is still alive.

A record is a line: the CRC-32 of the JSON in eight hex digits, a space, the JSON. A segment starts with a
`header`, then everything that was alive when it was begun, then a `live` mark; a segment without the
mark was never finished and counts for nothing. What matters is therefore the last segment with a mark.

Pages of a mapped segment reach the disk in any order, and so do the bytes of one copy into it: a crash may
leave a gap of zeros before records that are whole. Only what was not synced can be missing there, and of
that nothing was sent and nothing answered; a gap before the mark makes the segment an unfinished one.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.audit.base import Begin
from gateway.audit.files import Readable, with_prefix
from gateway.errors import StartError

FORMAT = 1
PREFIX = "journal-"
SUFFIX = ".log"


class Damaged(Exception):  # noqa: N818 - whoever reads decides whether it is an error
    """Bytes that are not a whole record."""


def encode(record: dict[str, Any]) -> bytes:
    """The record as one line. Raises `TypeError` when it is not JSON."""
    body = orjson.dumps(record)
    return b"%08x %b\n" % (zlib.crc32(body), body)


def encode_begin(begin: Begin, *, is_adopted: bool = False) -> bytes:
    """The begin record as one line; text that is not UTF-8 is made so, since a call must have its line.
    An adopted call is one that another gateway began and that we are about to close.
    """
    body = {
        "type": "adopted" if is_adopted else "begin",
        "time": begin.time,
        "kind": begin.kind,
        "call_id": begin.call_id,
        "tenant": begin.tenant,
        "principal": begin.principal,
        "principal_kind": begin.principal_kind,
        "agent": begin.agent,
        "proof": begin.proof,
        "surface": begin.surface,
        "tool": begin.tool,
        "run_id": begin.run_id,
        "step_id": begin.step_id,
    }
    try:
        return encode(body)
    except TypeError:
        return encode({name: str(value).encode("utf-8", "replace").decode() for name, value in body.items()})


def decode(raw: bytes) -> dict[str, Any]:
    """The record of one line. Raises `Damaged`."""
    body = raw[9:-1]
    if raw[8:9] != b" " or raw[-1:] != b"\n" or raw[:8] != b"%08x" % zlib.crc32(body):
        raise Damaged
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Damaged from error
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        raise Damaged
    return record


def identity(kind: str, call_id: str) -> str:
    """What ties a begin record to its line: one call id may have a `call` line and an `execution` line."""
    return f"{kind}:{call_id}"


@dataclass(slots=True)
class Ledger:
    """What is alive: calls without a line."""

    audit_seq: int = 0
    """No call that is alive has a line with a sequence number up to this one."""
    begins: dict[str, bytes] = field(default_factory=dict)

    def apply(self, record: dict[str, Any], raw: bytes) -> None:
        """Take a record in. A type that is not known here is left to those who wrote it."""
        match record["type"]:
            case "begin" | "adopted":
                self.begins[identity(record["kind"], record["call_id"])] = raw
            case "forgotten":
                self.begins.pop(identity(record["kind"], record["call_id"]), None)
            case "header":
                self.audit_seq = record["audit_seq"]

    def end(self, kind: str, call_id: str, seq: int) -> None:
        """The call has its line."""
        self.begins.pop(identity(kind, call_id), None)
        self.audit_seq = max(self.audit_seq, seq)

    def snapshot(self) -> list[bytes]:
        """Everything alive, as records."""
        return list(self.begins.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What a journal held when it was opened."""

    ledger: Ledger
    segments: tuple[str, ...]
    """The files that a new segment makes superfluous."""
    torn: int
    """Half-written records, and gaps before whole ones: what a crash in the middle of a write leaves."""

    @property
    def next_number(self) -> int:
        """The number of the next segment."""
        return max((number_of(name) for name in self.segments), default=0) + 1


def replay(files: Readable) -> Replayed:
    """What is alive in the journal. Raises `StartError` for damage before whole records that no crash explains."""
    names = tuple(with_prefix(files, PREFIX, SUFFIX))
    ledger, torn = Ledger(), 0
    for name in names:
        segment = _Segment(files, name)
        fresh = Ledger()
        is_finished = False
        for record, raw in segment:
            fresh.apply(record, raw)
            is_finished = is_finished or (record["type"] == "live" and not segment.torn)
        torn += segment.torn
        if is_finished:
            ledger = fresh
    return Replayed(ledger=ledger, segments=names, torn=torn)


class _Segment:
    """The whole records of one segment; `torn` counts what a crash left between and behind them."""

    def __init__(self, files: Readable, name: str) -> None:
        self._files = files
        self._name = name
        self.torn = 0

    def __iter__(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        with self._files.read(self._name) as stream:
            for number, raw in enumerate(stream, 1):
                try:
                    record = decode(raw)
                except Damaged:
                    self.torn += raw.strip(b"\0") != b""
                    if b"\0" in raw:
                        continue
                    self._demand_end(stream, number)
                    return
                if number == 1:
                    self._demand_header(record)
                yield record, raw

    def _demand_end(self, rest: Iterable[bytes], number: int) -> None:
        if any(_is_whole(later) for later in rest):
            raise StartError(
                f"the journal {self._name}, line {number}, is damaged and whole records follow it; "
                "restore the file, or move it away and accept that calls in it are never accounted for"
            )

    def _demand_header(self, record: dict[str, Any]) -> None:
        if record["type"] != "header" or record.get("format") != FORMAT:
            raise StartError(
                f"the journal {self._name} has a format that this version cannot read; start the version that wrote it"
            )


def _is_whole(raw: bytes) -> bool:
    try:
        decode(raw)
    except Damaged:
        return False
    return True


def number_of(name: str) -> int:
    """The number in a segment's name."""
    return int(name.removeprefix(PREFIX).removesuffix(SUFFIX))
