"""The seam between the logs and the disk: every operation that can fail, and nothing else.

`OSError` is what leaves this file; whoever writes a log decides what a failure means.
"""

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
