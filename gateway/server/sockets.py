"""Unix sockets that are never stolen."""

import fcntl
import grp
import os
import socket
import stat
from pathlib import Path

from gateway.errors import StartError

LONGEST_SOCKET_PATH = 107
"""`sun_path` holds 108 bytes with its end (unix(7))."""


class SocketFile:
    """A Unix socket's path, held by a lock file beside it: a live one is never stolen, a stale one replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_path = path.with_name(f"{path.name}.lock")
        self._lock: int | None = None

    def acquire(self) -> None:
        """The path is ours and free. Raises `StartError`."""
        if len(os.fsencode(self.path)) > LONGEST_SOCKET_PATH:
            raise StartError(f"the socket path {self.path} has over {LONGEST_SOCKET_PATH} bytes; choose a shorter one")
        while self._lock is None:
            self._lock = self._try_lock()
        try:
            self._remove_stale()
        except BaseException:
            self._unlock()
            raise

    def _try_lock(self) -> int | None:
        """The lock, or None when the file was replaced while we took it: its last holder removes it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
            lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StartError(f"cannot create {self._lock_path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise StartError(f"another gateway listens on {self.path}; stop it or choose another path") from error
        if self._lock_path.exists() and os.path.samestat(os.fstat(lock), self._lock_path.stat()):
            return lock
        os.close(lock)
        return None

    def open_to(self, mode: int, group: str) -> None:
        """Let the group and mode of the settings in. Raises `StartError`."""
        try:
            if group:
                os.chown(self.path, -1, grp.getgrnam(group).gr_gid)
            self.path.chmod(mode)
        except KeyError as error:
            raise StartError(f"there is no group {group!r} on this machine") from error
        except OSError as error:
            raise StartError(f"cannot set mode and group of {self.path}: {error.strerror}") from error

    def release(self) -> None:
        """The path is gone and anybody may take it."""
        if self._lock is not None:
            self.path.unlink(missing_ok=True)
            self._lock_path.unlink(missing_ok=True)
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _remove_stale(self) -> None:
        try:
            mode = self.path.lstat().st_mode
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(mode):
            raise StartError(f"{self.path} exists and is not a socket; remove it or choose another path")
        if _answers(self.path):
            raise StartError(f"another process listens on {self.path}; stop it or choose another path")
        self.path.unlink()


def _answers(path: Path) -> bool:
    """Whether some process accepts connections there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.settimeout(1.0)
            probe.connect(str(path))
        except OSError:
            return False
        return True
