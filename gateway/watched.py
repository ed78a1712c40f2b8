"""Small files that somebody else rotates: tokens, passwords, certificates, key sets."""

import os
import stat
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

LOOK_SECONDS = 1.0
"""How often a file is looked at: what was rotated is in use within this time."""
MAX_BYTES = 1024 * 1024

_Version = tuple[int, int, int, int, int]


class Trouble(StrEnum):
    """What is wrong with a file."""

    ABSENT = "absent"
    UNREADABLE = "unreadable"
    NOT_A_FILE = "not_a_file"
    TOO_LARGE = "too_large"
    OPEN_TO_ALL = "open_to_all"


class FileUnusable(Exception):  # noqa: N818 - named for what it is
    """The file cannot be read. The text is one sentence that names the path and nothing of its content."""

    def __init__(self, sentence: str, trouble: Trouble = Trouble.UNREADABLE) -> None:
        super().__init__(sentence)
        self.trouble = trouble


class WatchedFile:
    """Reads a file again when its inode, size or a time of change differs from when it was read.

    Symbolic links are followed: Kubernetes swaps secrets by one. Reading happens on the loop, once a second at
    most a `stat`; such files do not belong on a network file system.
    """

    def __init__(
        self,
        path: Path,
        monotonic: Callable[[], float],
        *,
        look_seconds: float = LOOK_SECONDS,
        max_bytes: int = MAX_BYTES,
        is_private: bool = False,
    ) -> None:
        """With `is_private` a file that every user of the machine may touch cannot be used."""
        self._max_bytes = max_bytes
        self._is_private = is_private
        self._path = path
        self._monotonic = monotonic
        self._look_seconds = look_seconds
        self._next_look = float("-inf")
        self._version: _Version | None = None
        self._is_settled = False
        self._content = b""
        self._problem: tuple[str, Trouble] | None = None

    def read(self) -> bytes:
        """The content as of at most `look_seconds` ago: the very same object as long as nothing changed.

        Raises `FileUnusable`; what was read before is gone then.
        """
        now = self._monotonic()
        if now >= self._next_look:
            self._next_look = now + self._look_seconds
            self._look()
        if self._problem is not None:
            raise FileUnusable(*self._problem)
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
            version = self._version_of(os.stat(self._path))  # noqa: PTH116 - see the class
            if version != self._version or not self._is_settled:
                self._take(*self._opened())
        except OSError as error:
            is_absent = isinstance(error, FileNotFoundError | NotADirectoryError)
            trouble = Trouble.ABSENT if is_absent else Trouble.UNREADABLE
            self._forget(f"{self._path} cannot be read: {error.strerror}", trouble)
        except ValueError:
            self._forget(f"{str(self._path)!r} cannot be read: this is no path")
        except FileUnusable as error:
            self._forget(str(error), error.trouble)

    def _take(self, content: bytes, version: _Version) -> None:
        """A file system's clock ticks slowly: two writes within one tick leave one and the same version. So a
        version counts as settled once the next look has read it again.
        """
        self._is_settled = version == self._version
        self._version, self._problem = version, None
        if content != self._content:
            self._content = content

    def _forget(self, sentence: str, trouble: Trouble = Trouble.UNREADABLE) -> None:
        self._content, self._version, self._is_settled, self._problem = b"", None, False, (sentence, trouble)

    def _opened(self) -> tuple[bytes, _Version]:
        """Content and version of one and the same open file. Not blocking, lest it became a pipe meanwhile."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - it is open already
            version = self._version_of(os.fstat(descriptor))
            content = file.read(self._max_bytes + 1)
        if len(content) > self._max_bytes:
            raise FileUnusable(f"{self._path} is larger than {self._max_bytes} bytes", Trouble.TOO_LARGE)
        return content, version

    def _version_of(self, status: os.stat_result) -> _Version:
        """What tells one content from another. Raises `FileUnusable` for what is no place for it."""
        if not stat.S_ISREG(status.st_mode):
            raise FileUnusable(f"{self._path} is not a regular file", Trouble.NOT_A_FILE)
        if self._is_private and status.st_mode & 0o007:
            raise FileUnusable(f"every user of the machine may touch {self._path}", Trouble.OPEN_TO_ALL)
        return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size
