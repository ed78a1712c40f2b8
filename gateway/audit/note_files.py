"""Files of signed notes, one after the other; only ever appended to."""

import os
from pathlib import Path

from gateway.audit.anchors import SUFFIX
from gateway.audit.notes import Note, notes_in
from gateway.errors import StartError

_TAIL_BYTES = 16 * 1024 * 1024


class NoteFile:
    """A file that notes are appended to. Methods block; run them in a thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def at(cls, path: Path, writer: str) -> "NoteFile":
        """The file itself, or in a directory that is there one that is named after the writer."""
        return cls(path / f"{writer}{SUFFIX}" if path.is_dir() else path)

    def last(self) -> Note | None:
        """The last whole note; None when there is none. Raises `StartError`."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
                content = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StartError(f"the checkpoints in {self.path} cannot be read: {error.strerror}") from error
        notes = list(notes_in(content))
        return notes[-1] if notes else None

    def append(self, note: Note) -> None:
        """The note is on stable storage. Raises `OSError`."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            # Behind what a crash cut off an empty line begins anew.
            is_torn = size > 0 and os.pread(descriptor, 2, max(0, size - 2)) != b"\n\n"
            raw = ("\n\n" if is_torn else "").encode() + f"{note}\n".encode()
            if os.write(descriptor, raw) != len(raw):
                raise OSError("the note was written in part")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
