"""Verification: whether every line stands where and as it was written.

The chain shows every change but one: lines cut off the end of the last file. Whoever keeps the head of
an earlier verdict elsewhere can show that, too.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.audit.chain import GENESIS, BadLine, Head, Mark, file_name, follow, unseal
from gateway.audit.files import Readable
from gateway.audit.reading import audit_files, continued, ends, open_directory, raw_lines


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
    head_seq: int
    head_hash: str
    """The last good line. Kept elsewhere, it shows later whether the end was cut off."""
    ignored_bytes: int
    """Bytes after a failed write, which the writer wrote again elsewhere."""
    first_bad: Bad | None


def verify(directory: Path) -> Verdict:
    """The verdict on the audit in a directory. Raises `StartError` when it cannot be entered at all."""
    files = open_directory(directory)
    try:
        return verify_files(files)
    finally:
        files.close()


def verify_files(files: Readable) -> Verdict:
    """The verdict on the audit in these files."""
    check = _Check()
    names = audit_files(files)
    for name, end in zip(names, ends(files, names), strict=True):
        try:
            check.file(files, name, end)
        except BadLine as error:
            return check.verdict(Bad(file=name, line=check.number, why=error.why))
        except OSError as error:
            return check.verdict(Bad(file=name, line=0, why=f"cannot be read: {error.strerror}"))
    return check.verdict(None)


class _Check:
    """The walk along the chain: the head so far, and where it is."""

    def __init__(self) -> None:
        self.number = 0
        self._head: Head | None = None
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
            self._ignored += len(stream.read()) if end is not None else 0
        self.number += 1
        if offset == 0:
            raise BadLine("is empty")
        if end is not None and offset < end:
            raise BadLine("was cut off: the next file says that it is longer")
        self._mark = Mark(name, offset)
        self._files += 1

    def _line(self, name: str, raw: bytes) -> None:
        value, head = unseal(raw) if self._head is None else follow(raw, self._head)
        if self.number == 1:
            self._first(name, value, head)
        elif value.get("kind") == "segment":
            raise BadLine("is a record that only a file's first line can be")
        else:
            self._lines += 1
        self._head = head

    def _first(self, name: str, value: dict[str, Any], head: Head) -> None:
        if name != file_name(head.seq):
            raise BadLine(f"belongs into {file_name(head.seq)}: the file was renamed or its content swapped")
        before = continued(value)
        if self._head is None:
            self._first_seq = head.seq
            if before is not None or value["prev"] != GENESIS:
                raise BadLine("continues a file that is missing")
        elif before is None or before[0] != self._mark:
            raise BadLine("does not continue the file before it, or that one was cut off or grew")

    def verdict(self, bad: Bad | None) -> Verdict:
        """What is known so far."""
        head = self._head or Head("", 0, GENESIS)
        return Verdict(
            ok=bad is None,
            files=self._files,
            lines=self._lines,
            first_seq=self._first_seq,
            head_seq=head.seq,
            head_hash=head.hash,
            ignored_bytes=self._ignored,
            first_bad=bad,
        )
