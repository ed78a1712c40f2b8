"""Verification of one tenant's lines alone: those of a whole audit, or what was handed over of it."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from gateway.audit.anchors import NONE, Anchors
from gateway.audit.chain import GENESIS, BadLine, Link, follow_own, own_of, unseal
from gateway.audit.files import Readable
from gateway.audit.reading import audit_files, ends, open_directory, raw_lines, read_first
from gateway.audit.verify import Bad, Progress
from gateway.errors import StartError


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantChain:
    """What one writer wrote for the tenant."""

    writer: str
    lines: int
    head_seq: int
    head_hash: str
    covered_seq: int
    """Up to which of the tenant's lines checkpoints reach; 0 when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantVerdict:
    """What verification found."""

    ok: bool
    tenant: str
    lines: int
    chains: tuple[TenantChain, ...]
    checkpoints: int
    first_bad: Bad | None


class _Found(NamedTuple):
    """A line, and where it stands."""

    file: str
    number: int
    raw: bytes


def verify_tenant(
    path: Path, tenant: str, anchors: Anchors = NONE, progress: Progress = lambda _bytes: None
) -> TenantVerdict:
    """The verdict on a tenant's lines in an audit directory, or in a file that holds nothing else.

    Raises `StartError` when the path cannot be read.
    """
    if not path.is_dir():
        return _verdict(_Check(tenant, anchors), _handed_over(path, progress))
    with contextlib.closing(open_directory(path)) as files:
        check = _Check(tenant, anchors, writer=_writer_of(files))
        return _verdict(check, of_tenant(files, tenant, progress))


def _verdict(check: "_Check", found: Iterator[_Found]) -> TenantVerdict:
    bad = check.anchors.bad
    if bad is not None:
        return check.verdict(Bad(file=bad.file, line=0, why=bad.why))
    return check.verdict(check.all(found))


def _writer_of(files: Readable) -> str:
    """Whose audit this is; empty when it does not say."""
    names = audit_files(files)
    try:
        return str(read_first(files, names[0])["writer"]) if names else ""
    except BadLine:
        return ""


def of_tenant(files: Readable, tenant: str, progress: Progress = lambda _bytes: None) -> Iterator[_Found]:
    """The tenant's lines in an audit, also those that look as if they were the tenant's and are damaged."""
    names = audit_files(files)
    named = b'"tenant":' + orjson.dumps(tenant)
    for name, end in zip(names, ends(files, names), strict=True):
        with files.read(name) as stream:
            for number, raw in enumerate(raw_lines(stream, end), 1):
                progress(len(raw))
                if named in raw:
                    yield _Found(name, number, raw)


def lines_of_tenant(directory: Path, tenant: str) -> Iterator[bytes]:
    """The tenant's lines as they were written, oldest first. Raises `StartError`, also for one that is damaged."""
    with contextlib.closing(open_directory(directory)) as files:
        for found in of_tenant(files, tenant):
            try:
                value, _head = unseal(found.raw)
            except BadLine as error:
                raise StartError(
                    f"{found.file}, line {found.number}, {error.why}; look at it with `tollhouse audit verify`"
                ) from error
            if value.get("tenant") == tenant:
                yield found.raw


def _handed_over(path: Path, progress: Progress) -> Iterator[_Found]:
    try:
        with path.open("rb") as stream:
            for number, raw in enumerate(raw_lines(stream), 1):
                progress(len(raw))
                yield _Found(path.name, number, raw)
    except OSError as error:
        raise StartError(f"the lines in {path} cannot be read: {error.strerror}") from error


class _Check:
    """The walk along one chain for each writer; with `writer`, of an audit that holds that one's lines for all."""

    def __init__(self, tenant: str, anchors: Anchors, writer: str | None = None) -> None:
        self.anchors = anchors
        self._tenant = tenant
        self._writer = writer
        self._ends: dict[str, Link] = {}
        self._lines: dict[str, int] = {}

    def all(self, found: Iterable[_Found]) -> Bad | None:
        """The first line that is not as it was written; None when all are."""
        last = _Found("", 0, b"")
        for line in found:
            last = line
            try:
                self._line(line.raw)
            except BadLine as error:
                return Bad(file=line.file, line=line.number, why=error.why)
        missing = self._missing()
        return Bad(file=last.file, line=last.number + 1, why=missing) if missing else None

    def _line(self, raw: bytes) -> None:
        value, head = unseal(raw)
        tenant, seq, before = own_of(value)
        if tenant != self._tenant and self._writer is not None:
            return  # the words stand in another's line
        if tenant != self._tenant:
            raise BadLine("is another tenant's")
        if head.writer not in self._ends and before == GENESIS:
            self._ends[head.writer] = Link(seq - 1, GENESIS)  # where a chain begins is its own affair
        end = self._ends.get(head.writer)
        if end is None:
            raise BadLine(f"is line {seq} of its tenant, and those before it are missing")
        _tenant, self._ends[head.writer] = follow_own(value, head, lambda _tenant: end)
        self._lines[head.writer] = self._lines.get(head.writer, 0) + 1
        self.anchors.check(head, value)

    def _missing(self) -> str:
        for writer in sorted(self.anchors.writers(self._tenant)):
            if self._writer and writer != self._writer:
                continue
            covered, number = self.anchors.covered_of(writer, self._tenant)
            end = self._ends.get(writer)
            if end is None or covered > end.seq:
                return f"was cut off here: checkpoint {number} was made of line {covered} of {writer} for the tenant"
        return ""

    def verdict(self, bad: Bad | None) -> TenantVerdict:
        """What is known so far."""
        chains = tuple(
            TenantChain(
                writer=writer,
                lines=self._lines.get(writer, 0),
                head_seq=end.seq,
                head_hash=end.hash,
                covered_seq=self.anchors.covered_of(writer, self._tenant)[0],
            )
            for writer, end in sorted(self._ends.items())
        )
        return TenantVerdict(
            ok=bad is None,
            tenant=self._tenant,
            lines=sum(self._lines.values()),
            chains=chains,
            checkpoints=self.anchors.checkpoints,
            first_bad=bad,
        )
