"""Where the chain goes on after a restart: behind the last good line of the last file."""

from dataclasses import dataclass
from typing import BinaryIO

from gateway.audit.chain import MAX_LINE_BYTES, BadLine, Chains, Head, Mark, file_name, unseal
from gateway.audit.files import Files, LogFile
from gateway.audit.reading import audit_files, continued, raw_lines
from gateway.errors import StartError


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The end of the audit. `file` is the one to append to; None when a new one must be begun."""

    file: LogFile | None
    chains: Chains
    mark: Mark | None
    """Up to where the last file counts; None when there is no file."""
    torn_bytes: int
    """Bytes of a write that a crash cut off."""

    @property
    def head(self) -> Head:
        """The last line."""
        return self.chains.head


def resume(files: Files, writer: str, after_seq: int) -> Resumed:
    """The end of the audit, every line of it on stable storage.

    `after_seq` is a sequence number that is known to have been durable. Raises `StartError` when the audit
    was changed or shortened, `OSError` when the disk fails.
    """
    name = _last_file(files)
    if name is None:
        return Resumed(file=None, chains=Chains.begun(writer, after_seq), mark=None, torn_bytes=0)
    with files.read(name) as stream:
        walk = _Walk(name, stream)
        chains, torn = walk.to_the_end()
    if chains.head.writer != writer:
        raise _altered(name, 1, "was written by another gateway")
    if chains.head.seq < after_seq:
        raise _altered(name, walk.number, f"is the last line, but line {after_seq} was written before")
    file = files.open(name)
    # A process that was killed between write and sync left lines in the page cache alone.
    file.sync()
    files.sync_directory()
    if torn:
        file.close()
    return Resumed(file=None if torn else file, chains=chains, mark=Mark(name, walk.offset), torn_bytes=torn)


def _last_file(files: Files) -> str | None:
    """The last file that was ever trusted. One that was being created at a crash was not, and goes."""
    for name in reversed(audit_files(files)):
        with files.read(name) as stream:
            if not _was_being_created(stream):
                return name
        files.remove(name)
    return None


def _was_being_created(stream: BinaryIO) -> bool:
    """Whether the file has no line, or zeros in its first: then its first write never became durable."""
    first = stream.readline(MAX_LINE_BYTES)
    if first[-1:] == b"\n" or b"\0" in first:
        return b"\0" in first
    return not any(b"\n" in block for block in iter(lambda: stream.read(65536), b""))


class _Walk:
    """A walk through the last file."""

    def __init__(self, name: str, stream: BinaryIO) -> None:
        self._name = name
        self._stream = stream
        self.number = 0
        self.offset = 0

    def to_the_end(self) -> tuple[Chains, int]:
        """Where the chains stand at the last good line, and how many bytes of a torn write follow it."""
        chains: Chains | None = None
        for raw in raw_lines(self._stream):
            try:
                chains = self._next(raw, chains)
            except BadLine as error:
                rest = raw + self._stream.read()
                if chains is None or not _is_torn(rest):
                    raise _altered(self._name, self.number + 1, error.why) from error
                return chains, len(rest)
            self.number += 1
            self.offset += len(raw)
        if chains is None:
            raise _altered(self._name, 1, "is empty")
        return chains, 0

    def _next(self, raw: bytes, chains: Chains | None) -> Chains:
        if chains is not None:
            chains.follow(raw)
            return chains
        value, first = unseal(raw)
        continued(value)
        if self._name != file_name(first.seq):
            raise BadLine(f"belongs into {file_name(first.seq)}")
        return Chains.at_segment(value, first)


def _is_torn(rest: bytes) -> bool:
    """Whether a crash explains these bytes: half a line, or the zeros that a power cut leaves. Whole lines
    that are wrong are somebody's work, and going on behind them would hide it.
    """
    return b"\n" not in rest or b"\0" in rest


def _altered(name: str, number: int, why: str) -> StartError:
    return StartError(
        f"the audit was changed: {name}, line {number}, {why}; look at it with `tollhouse audit verify`, "
        "then move the audit directory away as a whole to begin a new chain"
    )
