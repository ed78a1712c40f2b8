"""The journal: begin before anything.

A begin is one write into the page cache, made in the loop: it survives a kill of the process. A crash of the
machine may lose that of a read that was not answered, and then it never began; that of a write is synced, by a
group commit, before its effect is claimed. A segment whose write or sync failed is abandoned, not trusted: the next
begin starts a new one with everything that is still alive, and only when that one is on stable storage do the older
ones go.
"""

import contextlib
import errno
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.base import Clock, Fault
from gateway.audit.base import Begin
from gateway.audit.commit import GroupCommit, NotCommitted, Pace, fault_of
from gateway.audit.files import Files, LogFile
from gateway.audit.records import FORMAT, PREFIX, SUFFIX, Ledger, Replayed, encode, encode_begin, identity
from gateway.errors import Reason, Refusal

SEGMENT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOptions:
    """How a journal behaves."""

    writer: str
    active: Callable[[], int]
    """How many calls are being worked on."""
    is_audit_healthy: Callable[[], bool] = lambda: True
    """Whether lines can be written; while they cannot, no call begins."""
    pace: Pace = field(default_factory=Pace)
    segment_bytes: int = SEGMENT_BYTES


class _Segment:
    """The file that is written now. `is_settled`: it and its name are on stable storage."""

    __slots__ = ("file", "is_broken", "is_settled", "limit")

    def __init__(self, file: LogFile, limit: int) -> None:
        self.file = file
        self.limit = limit
        self.is_broken = False
        self.is_settled = False


class FileJournal:
    """`Journal` in segments of one directory. All methods but the writer's belong to the loop's thread."""

    def __init__(self, files: Files, replayed: Replayed, *, clock: Clock, options: JournalOptions) -> None:
        self._files = files
        self._ledger: Ledger = replayed.ledger
        self._next_number = replayed.next_number
        self._old: list[tuple[str, LogFile | None]] = [(name, None) for name in replayed.segments]
        self._clock = clock
        self._options = options
        self._retry_at = 0.0
        self._fault = Fault.NOT_LOADED
        self._segment: _Segment | None = None
        # Guards the segment against writes of the loop and of the writer's thread at the same time.
        self._lock = threading.Lock()
        self._commit: GroupCommit[None] = GroupCommit(
            "tollhouse-journal", lambda _batch: self._write(), active=options.active, pace=options.pace
        )

    def start(self) -> None:
        """The first segment is on stable storage with all that was alive; older ones are gone.

        Raises `OSError`. To be called once, before the loop runs calls.
        """
        self._begin_segment()
        self._write()

    @property
    def is_healthy(self) -> bool:
        """Whether the next begin is expected to succeed."""
        return self._segment is not None and not self._segment.is_broken and self._commit.is_healthy

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written."""
        return self._commit.is_idle

    def begin(self, begin: Begin, *, is_adopted: bool = False) -> None:
        """The call is in the page cache. Raises `Refusal`; there was no call then. An adopted one is another's that
        we are about to close: after a crash it has a line of ours only if the store says that we did.

        While audit lines cannot be written no call begins (`audit_unavailable`): it could not end.
        """
        if not self._options.is_audit_healthy():
            raise Refusal(
                Reason.AUDIT_UNAVAILABLE,
                "The gateway cannot write its audit at the moment; nothing was done, try again later.",
                fault=Fault.ERROR,
            )
        self._make_ready()
        raw = encode_begin(begin, is_adopted=is_adopted)
        self._append(raw)
        self._ledger.begins[identity(begin.kind, begin.call_id)] = raw

    async def sync(self) -> None:
        """What has begun is on stable storage: before an effect is claimed, so that it is never without a beginning.

        Raises `Refusal(journal_unavailable)`.
        """
        self._make_ready()
        try:
            await self._commit.put(None)
        except NotCommitted as error:
            if self._segment is not None and not self._segment.is_broken:
                self._abandon(self._segment, error.fault)
            raise _unavailable(error.fault) from error

    def forget(self, kind: str, call_id: str) -> None:
        """The call has its line elsewhere. Never raises: what is not written goes into the next segment."""
        record = {"type": "forgotten", "kind": str(kind), "call_id": call_id}
        raw = encode(record)
        self._ledger.apply(record, raw)
        with contextlib.suppress(Refusal):
            self._append(raw)

    def ended(self, kind: str, call_id: str, seq: int) -> None:
        """The call has a durable line with this sequence number; lines end in the order of their numbers."""
        self._ledger.end(kind, call_id, seq)

    async def close(self) -> None:
        """Everything handed in was written, or the timeout passed. Calling it twice is harmless."""
        self._retry_at = math.inf
        await self._commit.close()
        segment, self._segment = self._segment, None
        if segment is not None and self.is_idle:
            segment.file.close()

    def _make_ready(self) -> None:
        """There is a segment to write to, with room. Raises `Refusal`."""
        segment = self._segment
        is_usable = segment is not None and not segment.is_broken
        if segment is not None and is_usable and segment.file.size < segment.limit:
            return
        if self._clock.monotonic() >= self._retry_at:
            try:
                self._begin_segment()
            except OSError as error:
                self._retry_at = self._clock.monotonic() + self._options.pace.retry_seconds
                self._fault = fault_of(error)
            else:
                self._commit.push(None)
                return
        if not is_usable:
            raise _unavailable(self._fault)

    def _begin_segment(self) -> None:
        """Start a segment that holds all that is alive; the one before goes once this one is durable."""
        name = f"{PREFIX}{self._next_number:08d}{SUFFIX}"
        self._next_number += 1
        file = self._files.create(name)
        header = {"type": "header", "format": FORMAT, "writer": self._options.writer}
        header["audit_seq"] = self._ledger.audit_seq
        alive = self._ledger.snapshot()
        try:
            file.append(b"".join((encode(header), *alive, encode({"type": "live"}))))
        except OSError:
            self._discard(file)
            raise
        # Grown by as much again as it started with, or rotation would copy without end.
        limit = file.size + max(self._options.segment_bytes, file.size)
        with self._lock:
            if self._segment is not None:
                self._old.append((self._segment.file.name, self._segment.file))
            self._segment = _Segment(file, limit)

    def _discard(self, file: LogFile) -> None:
        """Nothing was trusted to this segment. A disk that is full for hours leaves one at every try, so neither
        it nor its descriptor may stay.
        """
        try:
            file.close()
            self._files.remove(file.name)
        except OSError:
            with self._lock:
                self._old.append((file.name, None))

    def _append(self, raw: bytes) -> None:
        with self._lock:
            segment = self._segment
            if segment is None or segment.is_broken:
                raise _unavailable(self._fault)
            try:
                segment.file.append(raw)
            except OSError as error:
                self._abandon(segment, fault_of(error))
                raise _unavailable(self._fault) from error

    def _abandon(self, segment: _Segment, fault: Fault) -> None:
        segment.is_broken = True
        self._fault = fault
        self._retry_at = self._clock.monotonic() + self._options.pace.retry_seconds

    def _write(self) -> None:
        """In the writer's thread: the segment is durable with all that is alive, and older ones go."""
        with self._lock:
            segment = self._segment
            if segment is None or segment.is_broken:
                self._old = _closed(self._old)
                raise OSError(errno.EIO, "the segment is abandoned")
            old, self._old = self._old, []
        try:
            segment.file.sync()
            if not segment.is_settled:
                self._files.sync_directory()
                segment.is_settled = True
        except OSError as error:
            with self._lock:
                self._abandon(segment, fault_of(error))
                self._old = _closed(old) + self._old
            raise
        self._remove(old)

    def _remove(self, old: list[tuple[str, LogFile | None]]) -> None:
        """Older segments go; one that cannot be removed is tried again with the next batch."""
        for name, file in old:
            try:
                if file is not None:
                    file.close()
                self._files.remove(name)
            except FileNotFoundError:
                continue
            except OSError:
                with self._lock:
                    self._old.append((name, None))


def _closed(old: list[tuple[str, LogFile | None]]) -> list[tuple[str, LogFile | None]]:
    """The same segments, still to be removed, without their descriptors: a disk that fails for hours would use
    up all there are. Only the writer's thread syncs, so in it nobody else can be at work on them.
    """
    for _name, file in old:
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()
    return [(name, None) for name, _file in old]


def _unavailable(fault: Fault) -> Refusal:
    return Refusal(
        Reason.JOURNAL_UNAVAILABLE,
        "The gateway cannot write its journal at the moment; nothing was done, try again later.",
        fault=fault,
    )
