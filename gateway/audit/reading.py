"""Reading audit files: line by line, only as far as their bytes count, without trusting any of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gateway.audit.chain import MAX_LINE_BYTES, PREFIX, SUFFIX, BadLine, Mark, first_seq, unseal
from gateway.audit.files import Directory, Readable, with_prefix
from gateway.errors import StartError

_SEQ = b',"seq":'


class Written(NamedTuple):
    """A line that is durable, as it was written."""

    seq: int
    raw: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLine:
    """One line of a file. `value` is None when it cannot be read, and `why` says why."""

    file: str
    number: int
    value: dict[str, Any] | None = field(repr=False)
    why: str = ""


def audit_files(files: Readable) -> list[str]:
    """The audit files, oldest first."""
    return list(with_prefix(files, PREFIX, SUFFIX))


def open_directory(directory: Path) -> Directory:
    """The directory, for reading. Raises `StartError`."""
    try:
        return Directory(directory)
    except OSError as error:
        raise StartError(f"there is no audit to read in {directory}: {error.strerror}") from error


def raw_lines(stream: BinaryIO, limit: int | None = None) -> Iterator[bytes]:
    """The stream's lines up to the limit in bytes; the last may lack its line end."""
    left = limit if limit is not None else -1
    while raw := stream.readline(MAX_LINE_BYTES if left < 0 else min(MAX_LINE_BYTES, left)):
        left -= len(raw) if left >= 0 else 0
        yield raw
        if left == 0:
            return


def continued(value: dict[str, Any]) -> tuple[Mark, bool] | None:
    """What a file's first record says of the file before: where it ends, and whether it was abandoned there.

    None when there is no file before. Raises `BadLine`.
    """
    if value.get("kind") != "segment" or type(value.get("abandoned")) is not bool:
        raise BadLine("is not the record that a file begins with")
    match value.get("continues"):
        case None:
            return None
        case {"file": str(name), "offset": int(offset), "seq": int(), "hash": str()} if offset > 0:
            return Mark(name, offset), value["abandoned"]
    raise BadLine("does not say which file it continues")


def read_first(files: Readable, name: str) -> dict[str, Any]:
    """The record that a file begins with. Raises `BadLine`."""
    with files.read(name) as stream:
        value, _head = unseal(stream.readline(MAX_LINE_BYTES))
    continued(value)
    return value


def ends(files: Readable, names: list[str]) -> list[int | None]:
    """For each file: how many of its bytes count, as the file after it says; None for all of them."""
    return [_end(files, name, after) for name, after in zip(names, [*names[1:], None], strict=False)]


def _end(files: Readable, name: str, after: str | None) -> int | None:
    """An end counts only where a failed write made the writer go on elsewhere; a full file counts whole."""
    if after is None:
        return None
    try:
        before = continued(read_first(files, after))
    except BadLine:
        return None
    if before is None or before[0].file != name or not before[1]:
        return None
    return before[0].offset


def lines_after(files: Readable, seq: int) -> Iterator[dict[str, Any]]:
    """Every line with a higher sequence number, oldest first. Lines that cannot be read are passed over."""
    names = audit_files(files)
    for index, (name, end) in enumerate(zip(names, ends(files, names), strict=True)):
        if index + 1 < len(names) and first_seq(names[index + 1]) <= seq:
            continue
        with files.read(name) as stream:
            for raw in raw_lines(stream, end):
                value = _value(raw)
                if value is not None and value["seq"] > seq and value.get("kind") != "segment":
                    yield value


def raw_after(files: Readable, seq: int, until: int) -> Iterator[Written]:
    """The lines with a number after `seq`, up to `until`, as they were written. Lines that cannot be read are passed
    over. Raises `OSError`.
    """
    names = audit_files(files)
    for index, (name, end) in enumerate(zip(names, ends(files, names), strict=True)):
        if index + 1 < len(names) and first_seq(names[index + 1]) <= seq:
            continue
        if first_seq(name) > until:
            return
        with files.read(name) as stream:
            for raw in raw_lines(stream, end):
                value = _value(raw) if _is_after(raw, seq) else None
                if value is not None and seq < value["seq"] <= until and value.get("kind") != "segment":
                    yield Written(value["seq"], raw)


def _is_after(raw: bytes, seq: int) -> bool:
    """Whether the line may have a higher number: a look at its end alone, for lines that are only passed by."""
    number = raw[raw.rfind(_SEQ) + len(_SEQ) :].partition(b",")[0]
    return not number.isdigit() or int(number) > seq


def _value(raw: bytes) -> dict[str, Any] | None:
    try:
        return unseal(raw)[0]
    except BadLine:
        return None


def tail(directory: Path, follow: Callable[[], bool] | None = None) -> Iterator[ReadLine]:
    """Every line, oldest first, segment records left out. Raises `StartError`.

    With `follow` it does not end with the last line: it is called whenever there is nothing more (it waits,
    and says whether to go on).
    """
    files = open_directory(directory)
    try:
        yield from _tail(files, follow)
    finally:
        files.close()


def _tail(files: Readable, follow: Callable[[], bool] | None) -> Iterator[ReadLine]:
    done: dict[str, tuple[int, int]] = {}
    last = 0
    while True:
        names = audit_files(files)
        for name, end in zip(names, ends(files, names), strict=True):
            is_last = name == names[-1]
            for line in _more(files, name, end, done, may_wait=is_last and follow is not None):
                seq = line.value["seq"] if line.value else last + 1
                # After a failed write the same line stands in the next file again.
                if seq > last and (line.value is None or line.value.get("kind") != "segment"):
                    yield line
                last = max(last, seq) if line.value else last
        if follow is None or not follow():
            return


def _more(
    files: Readable, name: str, end: int | None, done: dict[str, tuple[int, int]], *, may_wait: bool
) -> Iterator[ReadLine]:
    """The lines of a file that were not read yet. `done` keeps, per file, the bytes and lines read."""
    offset, number = done.get(name, (0, 0))
    if end is not None and offset >= end:
        return
    with files.read(name) as stream:
        stream.seek(offset)
        for raw in raw_lines(stream, None if end is None else end - offset):
            if may_wait and raw[-1:] != b"\n" and len(raw) < MAX_LINE_BYTES:
                break  # it is being written
            offset, number = offset + len(raw), number + 1
            done[name] = (offset, number)
            yield _parsed(name, number, raw)


def _parsed(name: str, number: int, raw: bytes) -> ReadLine:
    try:
        return ReadLine(file=name, number=number, value=unseal(raw)[0])
    except BadLine as error:
        return ReadLine(file=name, number=number, value=None, why=error.why)
