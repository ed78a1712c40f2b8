"""Where lines end: JSON lines in a hash chain, durable before anybody hears of them.

All writing happens in the thread of a group commit. A file whose write or sync failed is abandoned at the
last byte that is trusted; the lines that are owed go into a new file whose first record says so. While
no file can be written the lines stay owed, and are written first when the disk is back.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from adapters.base import Fault
from gateway.audit.base import Line
from gateway.audit.chain import Chains, Link, Mark, Sealing, file_name
from gateway.audit.commit import GroupCommit, NotCommitted, Pace
from gateway.audit.files import Files, LogFile
from gateway.audit.reading import Written
from gateway.audit.resume import Resumed
from gateway.errors import Reason, Refusal

_ALWAYS = frozenset({"time", "kind", "call_id", "tenant", "principal", "agent", "tool", "outcome"})

_FIELDS = Line._fields

OnEnded = Callable[[str, str, int], None]
"""Called in the loop with kind, call id and sequence number once a line is durable."""


OnWritten = Callable[[Sequence[Written]], None]
"""Called in the loop with lines that became durable, in order."""


class Standing(NamedTuple):
    """How far a writer's lines are durable: the last of all, and the last of each tenant."""

    writer: str
    seq: int
    hash: str
    tenants: Mapping[str, Link]


def encode_line(line: Line) -> bytes:
    """The line as a JSON object without its last brace; empty fields are left out, but for a few, and so is
    `delivered`: only when it is written does it show.
    """
    fields = {name: value for name, value in zip(_FIELDS, line, strict=True) if value or name in _ALWAYS}
    fields.pop("delivered", None)
    try:
        return orjson.dumps(fields)[:-1]
    except TypeError:  # text that is not UTF-8, a number that is too large: the line must be written all the same
        return orjson.dumps(_tame(fields))[:-1]


def _tame(value: Any) -> Any:
    if isinstance(value, dict):
        return {_tame(str(key)): _tame(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_tame(item) for item in value]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    return str(value).encode("utf-8", "replace").decode()


class _Owed:
    """A line until it is durable. `is_refused`: its answer was turned into a refusal."""

    __slots__ = ("call_id", "fields", "is_durable", "is_refused", "kind", "raw", "says_refused", "seq", "tenant")

    def __init__(self, line: Line) -> None:
        self.kind = line.kind
        self.call_id = line.call_id
        self.tenant: str = line.tenant if line.tenant.isascii() else _tame(line.tenant)
        self.fields = encode_line(line)
        self.seq = 0
        self.raw = b""
        self.is_refused = not line.delivered
        self.says_refused = False
        self.is_durable = False


class LineSink:
    """`Sink` in files of one directory, after `resume` has found where they end."""

    def __init__(
        self,
        files: Files,
        resumed: Resumed,
        *,
        active: Callable[[], int],
        on_ended: OnEnded,
        pace: Pace,
        segment_bytes: int,
    ) -> None:
        self._files = files
        self._file: LogFile | None = resumed.file
        self._chains: Chains = resumed.chains
        self.written = 0
        """Lines that became durable since the start."""
        self._mark: Mark | None = resumed.mark
        self._segment_bytes = segment_bytes
        self._on_ended = on_ended
        self._on_written: OnWritten | None = None
        # Decides, for a line and a caller at their timeout, which of the two was first.
        self._lock = threading.Lock()
        self._commit: GroupCommit[_Owed] = GroupCommit(
            "tollhouse-audit", self._write, active=active, pace=pace, done=self._announce, keeps_failed=True
        )

    @property
    def is_healthy(self) -> bool:
        """Whether lines can be written. While they cannot, no call may begin: its line could only be owed."""
        return self._commit.is_healthy

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written."""
        return self._commit.is_idle

    @property
    def head(self) -> tuple[int, str]:
        """Sequence number and hash of the last durable line."""
        return self._chains.head[1:]

    def standing(self) -> Standing:
        """The same with every tenant's own."""
        with self._lock:
            return Standing(*self._chains.head, dict(self._chains.tenants))

    def hand_on(self, to: OnWritten) -> None:
        """From now on hand over every line once it is durable."""
        self._on_written = to

    def owed(self) -> tuple[int, float]:
        """How many lines are not durable yet, and for how many seconds the oldest has waited."""
        return self._commit.owed()

    async def append(self, line: Line) -> None:
        """The line is on stable storage. Raises `Refusal(audit_unavailable)`; the line is owed then, and says
        `"delivered":false` when it is written.
        """
        owed = _Owed(line)
        try:
            await self._commit.put(owed)
        except NotCommitted as error:
            if self._is_too_late(owed):
                raise _unavailable(error.fault) from error

    def append_now(self, lines: Iterable[Line]) -> None:
        """The lines are on stable storage. Raises `OSError`. Only before the first `append`.

        A torn end that a crash left is abandoned even when there are no lines: what is whole verifies as whole.
        """
        owed = [_Owed(line) for line in lines]
        is_torn = self._file is None and self._mark is not None
        if owed or is_torn:
            self._write(owed)
            self._announce(owed)

    async def close(self) -> None:
        """Everything owed was written, or the timeout passed. Calling it twice is harmless."""
        await self._commit.close()
        if self._file is not None and self.is_idle:
            self._file.close()
            self._file = None

    def _is_too_late(self, owed: _Owed) -> bool:
        with self._lock:
            owed.is_refused = not owed.is_durable
            return owed.is_refused

    def _announce(self, batch: list[_Owed]) -> None:
        self.written += len(batch)
        for owed in batch:
            self._on_ended(owed.kind, owed.call_id, owed.seq)
        if self._on_written is not None:
            self._on_written([Written(owed.seq, owed.raw) for owed in batch])

    def _write(self, batch: list[_Owed]) -> None:
        """In the writer's thread: the batch is durable. Raises `OSError`; none of it is trusted then."""
        if self._file is not None and self._file.size < self._segment_bytes:
            try:
                self._extend(self._file, batch)
            except OSError:
                self._file.close()
                self._file = None
            else:
                return
        self._begin_file(batch)

    def _extend(self, file: LogFile, batch: list[_Owed]) -> None:
        sealing = Sealing(self._chains)
        file.append(_sealed(sealing, batch))
        file.sync()
        self._accept(batch, sealing, Mark(file.name, file.size))

    def _begin_file(self, batch: list[_Owed]) -> None:
        """A new file with the batch in it. The file before stays as it is: full, or abandoned."""
        sealing = Sealing(self._chains)
        first = sealing.segment(self._mark, is_abandoned=self._file is None and self._mark is not None)
        raw = first + _sealed(sealing, batch)
        file = self._fresh(file_name(self._chains.head.seq + 1))
        try:
            file.append(raw)
            file.sync()
            self._files.sync_directory()
            self._accept(batch, sealing, Mark(file.name, file.size))
        except OSError:
            file.close()
            raise
        if self._file is not None:
            self._file.close()
        self._file = file

    def _fresh(self, name: str) -> LogFile:
        """A new file; one of this name can only be an attempt that failed, in which nothing was trusted."""
        try:
            return self._files.create(name)
        except FileExistsError:
            self._files.remove(name)
            return self._files.create(name)

    def _accept(self, batch: list[_Owed], sealing: Sealing, mark: Mark) -> None:
        """The batch is durable, unless somebody was refused while it was written: what a line says of its
        answer must be true, so such a batch counts as failed and is written again.
        """
        with self._lock:
            if any(owed.is_refused and not owed.says_refused for owed in batch):
                raise TimeoutError
            for owed in batch:
                owed.is_durable = True
            sealing.done()
        self._mark = mark


def _sealed(sealing: Sealing, batch: list[_Owed]) -> bytes:
    for owed in batch:
        owed.says_refused = owed.is_refused
        fields = owed.fields + b',"delivered":false' if owed.says_refused else owed.fields
        owed.raw = sealing.line(fields, owed.tenant)
        owed.seq = sealing.head.seq
    return b"".join([owed.raw for owed in batch])


def _unavailable(fault: Fault) -> Refusal:
    return Refusal(
        Reason.AUDIT_UNAVAILABLE,
        "The gateway cannot write its audit at the moment, so the answer is withheld; ask for the call again later.",
        fault=fault,
    )
