"""Opening a state directory: lock, replay; then journal and sink are ready, and it is known what a crash cut off."""

import contextlib
import dataclasses
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from adapters.base import Clock
from gateway.audit.commit import Pace
from gateway.audit.files import Directory, Files, MappedDirectory, Readable
from gateway.audit.journal import SEGMENT_BYTES, FileJournal, JournalOptions
from gateway.audit.lines import LineSink
from gateway.audit.lock import StateLock
from gateway.audit.reading import lines_after
from gateway.audit.records import replay
from gateway.audit.recovery import CutOff, cut_off
from gateway.audit.resume import resume
from gateway.errors import StartError
from gateway.settings.parts import AuditSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Journal and sink of one state directory, ready."""

    journal: FileJournal
    sink: LineSink
    writer: str
    """Who writes: the same for all lines of one state directory."""
    cut_off: tuple[CutOff, ...] = field(repr=False)
    """The calls that a crash cut off: each still needs its line (see `Aftermath`)."""
    line_files: Readable = field(repr=False)
    """Where the lines are."""
    torn: int
    """How many writes a crash had cut off in the middle."""
    release: Callable[[], None] = field(default=lambda: None, repr=False)

    async def close(self) -> None:
        """What is owed was written, as far as the disk allows; the directory is free for the next gateway, or
        will be when the process ends if the disk hangs with a write of ours.
        """
        await self.sink.close()
        await self.journal.close()
        if self.sink.is_idle and self.journal.is_idle:
            self.release()


def audit_directory(state_dir: Path) -> Path:
    """Where the audit files of a state directory are."""
    return state_dir / "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How journal and sink behave."""

    writer: str
    """Who writes: the same for all lines of one state directory."""
    active: Callable[[], int]
    """How many calls are being worked on, those that wait for a sync included."""
    pace: Pace = field(default_factory=Pace)
    segment_bytes: int
    journal_bytes: int = SEGMENT_BYTES


def open_audit(
    state_dir: Path,
    settings: AuditSettings,
    clock: Clock,
    active: Callable[[], int],
    *,
    new_writer: Callable[[], str] = lambda: secrets.token_hex(8),
) -> Audit:
    """Journal and sink of the state directory.

    Raises `StartError` when another gateway uses the directory, or when journal or audit cannot be trusted.
    """
    with contextlib.ExitStack() as stack:
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.callback(StateLock(state_dir).release)
            journal_files, line_files = (
                MappedDirectory.made(state_dir / "journal"),
                Directory.made(audit_directory(state_dir)),
            )
            stack.callback(journal_files.close)
            stack.callback(line_files.close)
            with contextlib.closing(Directory(state_dir)) as own_files:
                writer = writer_of(own_files, new_writer)
            opening = Opening(
                writer=writer,
                active=active,
                pace=Pace(delay_seconds=settings.commit_delay_ms / 1000),
                segment_bytes=settings.segment_bytes,
            )
            audit = open_files(journal_files, line_files, clock=clock, opening=opening)
        except OSError as error:
            raise StartError(f"the state directory {state_dir} cannot be used: {error.strerror}") from error
        return dataclasses.replace(audit, release=stack.pop_all().close)


def open_files(journal_files: Files, line_files: Files, *, clock: Clock, opening: Opening) -> Audit:
    """The same over any two directories. Raises `StartError` and `OSError`."""
    replayed = replay(journal_files)
    resumed = resume(line_files, opening.writer, replayed.ledger.audit_seq)
    written = lines_after(line_files, replayed.ledger.audit_seq)
    cut = cut_off(replayed.ledger, written)

    def is_audit_healthy() -> bool:
        return sink.is_healthy

    options = JournalOptions(
        writer=opening.writer,
        active=opening.active,
        is_audit_healthy=is_audit_healthy,
        pace=opening.pace,
        segment_bytes=opening.journal_bytes,
    )
    journal = FileJournal(journal_files, replayed, clock=clock, options=options)
    sink = LineSink(
        line_files,
        resumed,
        active=opening.active,
        on_ended=journal.ended,
        pace=opening.pace,
        segment_bytes=opening.segment_bytes,
    )
    sink.append_now(())
    journal.start()
    return Audit(
        journal=journal,
        sink=sink,
        writer=opening.writer,
        cut_off=cut,
        line_files=line_files,
        torn=replayed.torn + bool(resumed.torn_bytes),
    )


def writer_of(files: Files, new_writer: Callable[[], str]) -> str:
    """The name of this state directory's writer, made up once and kept. Raises `OSError`."""
    if "writer" in files.names():
        with files.read("writer") as stream:
            writer = stream.read(64).decode("ascii", "replace").strip()
        if writer.isalnum():
            return writer
        files.remove("writer")  # cut off by a crash, before anything was written in its name
    writer = new_writer()
    file = files.create("writer")
    try:
        file.append(f"{writer}\n".encode())
        file.sync()
        files.sync_directory()
    finally:
        file.close()
    return writer
