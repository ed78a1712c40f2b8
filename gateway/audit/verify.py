"""Verification: whether every line stands where and as it was written.

The chain shows every change but one: lines cut off the end, or replaced from some line on to the end by whoever
could write the files. Checkpoints that were kept elsewhere show that as well, as far as the last one reaches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.audit.anchors import NONE, Anchors
from gateway.audit.chain import GENESIS, BadLine, Chains, Head, Mark, file_name, unseal
from gateway.audit.files import Readable
from gateway.audit.reading import audit_files, continued, ends, open_directory, raw_lines

Progress = Callable[[int], None]
"""Called with how many more bytes were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """The first line that is not as it was written; line 0 means the file as a whole."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What verification found."""

    ok: bool
    files: int
    lines: int
    """Lines that are good, the records that files begin with not counted."""
    first_seq: int
    """Where the chain begins; more than 1 when an earlier chain was taken away as a whole."""
    writer: str
    head_seq: int
    head_hash: str
    """The last good line. Kept elsewhere, it shows later whether the end was cut off."""
    tenants: int
    """How many tenants have a chain of their own."""
    ignored_bytes: int
    """Bytes after a failed write, which the writer wrote again elsewhere."""
    checkpoints: int
    """Signed checkpoints that the lines were compared with."""
    covered_seq: int
    """Up to which line they reach; lines after it can still be cut off unseen."""
    first_bad: Bad | None


def verify(directory: Path, anchors: Anchors = NONE, progress: Progress = lambda _bytes: None) -> Verdict:
    """The verdict on the audit in a directory. Raises `StartError` when it cannot be entered at all."""
    files = open_directory(directory)
    try:
        return verify_files(files, anchors, progress)
    finally:
        files.close()


def verify_files(files: Readable, anchors: Anchors = NONE, progress: Progress = lambda _bytes: None) -> Verdict:
    """The verdict on the audit in these files. With anchors it is bad as well when it contradicts one of them."""
    check = _Check(anchors, progress)
    if anchors.bad is not None:
        return check.verdict(Bad(file=anchors.bad.file, line=0, why=anchors.bad.why))
    name = ""
    names = audit_files(files)
    for name, end in zip(names, ends(files, names), strict=True):
        try:
            check.file(files, name, end)
        except BadLine as error:
            return check.verdict(Bad(file=name, line=check.number, why=error.why))
        except OSError as error:
            return check.verdict(Bad(file=name, line=0, why=f"cannot be read: {error.strerror}"))
    missing = check.missing()
    return check.verdict(Bad(file=name, line=check.number, why=missing) if missing else None)


class _Check:
    """The walk along the chain: where it is, and where the chains stand there."""

    def __init__(self, anchors: Anchors, progress: Progress) -> None:
        self.number = 0
        self._anchors = anchors
        self._progress = progress
        self._chains: Chains | None = None
        self._mark: Mark | None = None
        self._files = 0
        self._lines = 0
        self._first_seq = 0
        self._ignored = 0

    def file(self, files: Readable, name: str, end: int | None) -> None:
        """One whole file is good. Raises `BadLine`, and `number` tells where."""
        self.number, offset = 0, 0
        with files.read(name) as stream:
            for raw in raw_lines(stream, end):
                self.number += 1
                self._line(name, raw)
                offset += len(raw)
                self._progress(len(raw))
            self._ignored += len(stream.read()) if end is not None else 0
        self.number += 1
        if offset == 0:
            raise BadLine("is empty")
        if end is not None and offset < end:
            raise BadLine("was cut off: the next file says that it is longer")
        self._mark = Mark(name, offset)
        self._files += 1

    def missing(self) -> str:
        """Why lines are missing at the end; empty when no checkpoint says so."""
        if self._chains is None:
            return self._anchors.missing_altogether()
        return self._anchors.missing_after(self._chains)

    def _line(self, name: str, raw: bytes) -> None:
        if self._chains is None:
            value = self._begin(name, raw)
        else:
            value = self._chains.follow(raw)
            if self.number == 1:
                self._continue(name, value, self._chains.head)
            elif value.get("kind") == "segment":
                raise BadLine("is a record that only a file's first line can be")
        if value.get("kind") != "segment":
            self._lines += 1
        assert self._chains is not None
        self._anchors.check(self._chains.head, value)

    def _begin(self, name: str, raw: bytes) -> dict[str, Any]:
        """The very first line."""
        value, head = unseal(raw)
        before = _continued_at(name, value, head)
        if before is not None or value["prev"] != GENESIS:
            raise BadLine("continues a file that is missing")
        chains = Chains.at_segment(value, head)
        if chains.base != head.seq - 1 or chains.tenants:
            raise BadLine("says something else of the tenants' chains than that they begin here")
        if why := self._anchors.missing_before(chains):
            raise BadLine(why)
        self._chains, self._first_seq = chains, head.seq
        return value

    def _continue(self, name: str, value: dict[str, Any], head: Head) -> None:
        if _continued_at(name, value, head) != self._mark:
            raise BadLine("does not continue the file before it, or that one was cut off or grew")

    def verdict(self, bad: Bad | None) -> Verdict:
        """What is known so far."""
        chains = self._chains or Chains.begun("", 0)
        return Verdict(
            ok=bad is None,
            files=self._files,
            lines=self._lines,
            first_seq=self._first_seq,
            writer=chains.head.writer,
            head_seq=chains.head.seq,
            head_hash=chains.head.hash,
            tenants=len(chains.tenants),
            ignored_bytes=self._ignored,
            checkpoints=self._anchors.checkpoints,
            covered_seq=self._anchors.covered(chains.head.writer),
            first_bad=bad,
        )


def _continued_at(name: str, value: dict[str, Any], head: Head) -> Mark | None:
    """Where the file before this one ends, as its first record says. Raises `BadLine`."""
    if name != file_name(head.seq):
        raise BadLine(f"belongs into {file_name(head.seq)}: the file was renamed or its content swapped")
    before = continued(value)
    return before[0] if before is not None else None
