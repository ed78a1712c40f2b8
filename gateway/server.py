"""The server's life: sockets that are never stolen, listeners that serve what they name, a drain that
lets calls in flight finish.
"""

import asyncio
import fcntl
import grp
import os
import socket
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from gateway.errors import StartError
from gateway.settings.listeners import Listener
from gateway.settings.parts import ServerSettings

TRANSPORT_BYTES = 16 * 1024 * 1024
"""Above the gateway's own bounds, so that a request that is too large still becomes a call with a line."""

PING_INTERVAL_MS = 500
"""How often a client may ping a connection on which nothing else happens. Clients send at most one a second."""

LONGEST_SOCKET_PATH = 107
"""`sun_path` holds 108 bytes with its end (unix(7))."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A listener and what it serves."""

    listener: Listener
    handlers: Sequence[grpc.GenericRpcHandler]


class Server:
    """One gRPC server for each listener, so that each knows its own callers."""

    def __init__(self, servings: Sequence[Serving], settings: ServerSettings) -> None:
        self._servings = servings
        self._settings = settings
        self._servers: list[grpc.aio.Server] = []
        self._sockets: list[SocketFile] = []
        self.addresses: dict[str, str] = {}
        """The address of each listener by its name, with the real port."""

    async def start(self) -> None:
        """Listen everywhere, or nowhere. Raises `StartError`."""
        try:
            for serving in self._servings:
                await self._start_one(serving)
        except BaseException:
            await self.stop(grace_seconds=0)
            raise

    async def stop(self, *, grace_seconds: float | None = None) -> None:
        """Take no new calls; let those in flight finish within the grace; remove the sockets."""
        grace = self._settings.drain_seconds if grace_seconds is None else grace_seconds
        await asyncio.gather(*(server.stop(grace) for server in self._servers))
        self._servers.clear()
        while self._sockets:
            self._sockets.pop().release()

    async def wait(self) -> None:
        """Return when a server has ended."""
        await asyncio.wait(
            [asyncio.ensure_future(server.wait_for_termination()) for server in self._servers],
            return_when=asyncio.FIRST_COMPLETED,
        )

    async def _start_one(self, serving: Serving) -> None:
        server = grpc.aio.server(options=_options())
        server.add_generic_rpc_handlers(tuple(serving.handlers))
        listener = serving.listener
        if listener.is_unix:
            self._bind_socket(server, listener)
        else:
            self._bind_port(server, listener)
        await server.start()
        self._servers.append(server)

    def _bind_socket(self, server: grpc.aio.Server, listener: Listener) -> None:
        file = SocketFile(listener.socket_path)
        file.acquire()
        self._sockets.append(file)
        # The file must never be open to more than its mode, not even between bind and chmod.
        before = os.umask(0o177)
        try:
            server.add_insecure_port(f"unix:{listener.socket_path}")
        except RuntimeError as error:
            raise StartError(f"cannot listen on {listener.address}: {_short(error)}") from error
        finally:
            os.umask(before)
        file.open_to(int(listener.mode, 8), listener.group)
        self.addresses[listener.name] = listener.address

    def _bind_port(self, server: grpc.aio.Server, listener: Listener) -> None:
        try:
            port = server.add_insecure_port(listener.address)
        except RuntimeError as error:
            raise StartError(f"cannot listen on {listener.address}: the port is taken or not ours") from error
        self.addresses[listener.name] = f"{listener.address.rpartition(':')[0]}:{port}"


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


def _options() -> list[tuple[str, Any]]:
    return [
        ("grpc.max_receive_message_length", TRANSPORT_BYTES),
        ("grpc.max_send_message_length", TRANSPORT_BYTES),
        ("grpc.so_reuseport", 0),  # two gateways must never share a port by accident
        # An agent may ping an idle connection; by grpc's own allowance (one in two hours) it would soon be cut off.
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", PING_INTERVAL_MS),
    ]


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:120]
