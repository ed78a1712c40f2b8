"""The seam between the logs and the disk: every operation that can fail, and nothing else.

`OSError` is what leaves this file; whoever writes a log decides what a failure means.
"""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from gateway.errors import StartError

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class LogFile(Protocol):
    """A file that only grows. After an `OSError` nothing is known of its tail."""

    @property
    def name(self) -> str:
        """Its name within its directory."""
        ...

    @property
    def size(self) -> int:
        """How many bytes it holds, those of a failed append not counted."""
        ...

    def append(self, data: bytes) -> None:
        """All of the data is in the page cache: it survives the process, not the machine."""
        ...

    def sync(self) -> None:
        """Everything appended so far is on stable storage."""
        ...

    def close(self) -> None:
        """Let go of the file; nothing is synced."""
        ...


class Readable(Protocol):
    """A directory of logs, for those who only read."""

    def names(self) -> list[str]:
        """The names of the files, sorted."""
        ...

    def read(self, name: str) -> BinaryIO:
        """The file from its beginning."""
        ...


class Files(Readable, Protocol):
    """A directory of logs."""

    def create(self, name: str) -> LogFile:
        """A new, empty file that only its owner can read. Its name is durable after `sync_directory`."""
        ...

    def open(self, name: str) -> LogFile:
        """An existing file, to append to."""
        ...

    def remove(self, name: str) -> None:
        """The file is gone."""
        ...

    def sync_directory(self) -> None:
        """Names that were created or removed stay so after a power cut."""
        ...

    def close(self) -> None:
        """Let go of the directory."""
        ...


class Directory:
    """`Files` on a real disk. The directory is reached by descriptor, so it cannot be swapped underneath."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)

    @classmethod
    def made(cls, path: Path) -> "Directory":
        """The directory, made with mode 0700 when it is missing.

        Raises `StartError` when others than its owner may enter it.
        """
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = cls(path)
        if os.fstat(directory._fd).st_mode & 0o077:
            directory.close()
            raise StartError(f"{path} can be entered by others than its owner; run: chmod 700 {path}")
        sync_directory(path.parent)
        return directory

    def names(self) -> list[str]:
        """The names of the files, sorted."""
        return sorted(os.listdir(self._fd))  # noqa: PTH208 - by descriptor

    def read(self, name: str) -> BinaryIO:
        """The file from its beginning."""
        return os.fdopen(os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self._fd), "rb")

    def create(self, name: str) -> "DiskFile":
        """A new file with mode 0600; `FileExistsError` when there is one."""
        return DiskFile(name, os.open(name, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self._fd))

    def open(self, name: str) -> "DiskFile":
        """An existing file, to append to."""
        return DiskFile(name, os.open(name, _FLAGS, dir_fd=self._fd))

    def remove(self, name: str) -> None:
        """The file is gone."""
        os.unlink(name, dir_fd=self._fd)

    def sync_directory(self) -> None:
        """Names that were created or removed stay so after a power cut."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Let go of the directory. Calling it twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class DiskFile:
    """`LogFile` on a real disk."""

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self.size = os.fstat(fd).st_size
        self._fd = fd

    def append(self, data: bytes) -> None:
        """One write in nearly every case; a short one is continued."""
        written = os.write(self._fd, data)
        while written < len(data):
            written += os.write(self._fd, data[written:])
        self.size += len(data)

    def sync(self) -> None:
        """Everything appended so far is on stable storage."""
        os.fdatasync(self._fd)

    def close(self) -> None:
        """Let go of the file. Calling it twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class MappedDirectory(Directory):
    """`Files` on a real disk whose new files are written through mapped memory."""

    def create(self, name: str) -> "MappedFile":  # type: ignore[override]  # another LogFile
        """A new file with mode 0600; `FileExistsError` when there is one."""
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL
        return MappedFile(name, os.open(name, flags, 0o600, dir_fd=self._fd))


class MappedFile:
    """`LogFile` whose append is a copy into mapped memory and no system call.

    What is copied is in the page cache and survives the process like a write, but cannot wait behind a
    sync of the same disk. Room is reserved a window at a time, so a full disk shows there, as an error of
    `append`. Behind the last byte stand zeros until the file is closed. Hazard: whoever truncates the file
    meanwhile kills the process (SIGBUS, mmap(2)); the directory is its owner's alone.
    """

    WINDOW = 1024 * 1024

    def __init__(self, name: str, fd: int) -> None:
        self.name = name
        self.size = 0
        self._fd = fd
        self._window: mmap.mmap | None = None
        self._start = -self.WINDOW

    def append(self, data: bytes) -> None:
        """All of the data, or an error that leaves `size` as it was."""
        at = self.size - self._start
        end = at + len(data)
        if end > self.WINDOW or self._window is None:
            self._append_across(data)
        else:
            self._window[at:end] = data
        self.size += len(data)

    def sync(self) -> None:
        """Everything appended so far is on stable storage: fdatasync(2) takes mapped pages along."""
        os.fdatasync(self._fd)

    def close(self) -> None:
        """Let go of the file, without the zeros. Calling it twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self._window is not None:
            self._window.close()
        try:
            os.ftruncate(fd, self.size)
        finally:
            os.close(fd)

    def _append_across(self, data: bytes) -> None:
        at, done = self.size, 0
        while done < len(data):
            if self._window is None or at - self._start >= self.WINDOW:
                self._next_window()
            assert self._window is not None
            place = at - self._start
            piece = data[done : done + self.WINDOW - place]
            self._window[place : place + len(piece)] = piece
            at, done = at + len(piece), done + len(piece)

    def _next_window(self) -> None:
        start = self._start + self.WINDOW
        os.posix_fallocate(self._fd, start, self.WINDOW)
        flags = mmap.MAP_SHARED | mmap.MAP_POPULATE
        window = mmap.mmap(self._fd, self.WINDOW, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE, offset=start)
        if self._window is not None:
            self._window.close()
        self._window, self._start = window, start


def sync_directory(path: Path) -> None:
    """Names in the directory are durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def with_prefix(files: Readable, prefix: str, suffix: str) -> Iterator[str]:
    """The names, in order, that belong to one log; anything else in the directory is somebody else's."""
    for name in files.names():
        middle = name.removeprefix(prefix).removesuffix(suffix)
        if name == f"{prefix}{middle}{suffix}" and middle.isdigit():
            yield name
