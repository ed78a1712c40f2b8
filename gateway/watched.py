"""Small files that somebody else rotates: tokens, passwords, certificates."""

import os
from collections.abc import Callable
from pathlib import Path

LOOK_SECONDS = 1.0
"""How often a file is looked at: what was rotated is in use within this time."""
MAX_BYTES = 1024 * 1024

_Version = tuple[int, int, int, int]


class FileUnusable(Exception):  # noqa: N818 - named for what it is
    """The file cannot be read. The text is one sentence that names the path and nothing of its content."""


class WatchedFile:
    """Reads a file again when its inode, size or time of change differs from when it was read.

    Symbolic links are followed: Kubernetes swaps secrets by one. Reading happens on the loop, once a second at
    most a `stat`; such files do not belong on a network file system.
    """

    def __init__(self, path: Path, monotonic: Callable[[], float], *, look_seconds: float = LOOK_SECONDS) -> None:
        self._path = path
        self._monotonic = monotonic
        self._look_seconds = look_seconds
        self._next_look = float("-inf")
        self._version: _Version | None = None
        self._content = b""

    def read(self) -> bytes:
        """The content as of at most `look_seconds` ago. Raises `FileUnusable`; what was read before is gone then."""
        now = self._monotonic()
        if now >= self._next_look:
            self._next_look = now + self._look_seconds
            self._look()
        if self._version is None:
            raise FileUnusable(f"{self._path} cannot be read")
        return self._content

    def text(self) -> str:
        """The same as text, without white space around it. Raises `FileUnusable`, also when it is empty."""
        try:
            text = self.read().decode().strip()
        except UnicodeDecodeError:
            text = ""  # not chained: the error holds the bytes
        if not text:
            raise FileUnusable(f"{self._path} holds no text")
        return text

    def _look(self) -> None:
        try:
            version = _version(os.stat(self._path))  # noqa: PTH116 - see the class
            if version != self._version:
                self._content, self._version = self._opened()
        except OSError as error:
            self._content, self._version = b"", None
            raise FileUnusable(f"{self._path} cannot be read: {error.strerror}") from error

    def _opened(self) -> tuple[bytes, _Version]:
        """Content and version of one and the same open file."""
        with self._path.open("rb") as file:
            version = _version(os.fstat(file.fileno()))
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            self._content, self._version = b"", None
            raise FileUnusable(f"{self._path} is larger than {MAX_BYTES} bytes")
        return content, version


def _version(status: os.stat_result) -> _Version:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
