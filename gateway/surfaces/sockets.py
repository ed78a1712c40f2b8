"""Sockets to listen on: Unix sockets that are never stolen and never open to more than they should be, and ports."""

import contextlib
import fcntl
import grp
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from gateway.errors import StartError
from gateway.settings.listeners import Place
from gateway.settings.part import UNIX

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


class Serves(Protocol):
    """Something that answers on a socket."""

    async def start(self, sock: socket.socket) -> None:
        """Answer on a bound socket, which is its own from here on. Raises `StartError`."""
        ...

    async def stop(self) -> None:
        """Nobody is answered any more. Harmless when it was not started."""
        ...


async def serve_at(stack: contextlib.AsyncExitStack, server: Serves, place: Place) -> str:
    """Serve from now on until the stack ends; the address, with the real port. Raises `StartError`."""
    file = SocketFile(place.socket_path) if place.is_unix else None
    if file is not None:
        file.acquire()
        stack.callback(file.release)
    sock = bound_socket(place.address)
    stack.callback(sock.close)
    if file is not None:
        file.open_to(int(place.mode, 8), place.group)
    stack.push_async_callback(server.stop)
    await server.start(sock)
    return place.address if file is not None else f"{place.address.rpartition(':')[0]}:{sock.getsockname()[1]}"


@contextlib.contextmanager
def for_us_alone() -> Iterator[None]:
    """Sockets that are bound within are open to our own user alone: their file must never be open to more than its
    mode, not even between bind and chmod.
    """
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def bound_socket(address: str) -> socket.socket:
    """A socket at `unix:PATH` or `ADDRESS:PORT` that nobody can connect to yet. Raises `StartError`.

    A Unix socket's file is open to its owner alone until somebody opens it to more.
    """
    try:
        return _bound_unix(address.removeprefix(UNIX)) if address.startswith(UNIX) else _bound_tcp(address)
    except OSError as error:
        raise StartError(f"cannot listen on {address}: {error.strerror}") from error


def _bound_unix(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with for_us_alone():
            sock.bind(path)
    except OSError:
        sock.close()
        raise
    return sock


def _bound_tcp(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    family, kind, _, _, where = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
    sock = socket.socket(family, kind)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(where)
    except OSError:
        sock.close()
        raise
    return sock


def _answers(path: Path) -> bool:
    """Whether some process accepts connections there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.settimeout(1.0)
            probe.connect(str(path))
        except OSError:
            return False
        return True
