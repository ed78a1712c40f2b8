"""Connections of a blocking client that another thread can cut off.

A timeout of a socket is for one read, and a server that drips a byte now and then never meets it. Whoever waits for
the thread gives up at its deadline; cutting the line lets the thread give up as well.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import urllib3
import urllib3.connection


class Line:
    """The connection that one request uses at the moment."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: urllib3.connection.HTTPConnection | None = None
        self._is_cut = False

    def taken_by(self, connection: urllib3.connection.HTTPConnection) -> None:
        """The request goes over this connection from now on. Raises `TimeoutError` when the line is cut already."""
        with self._lock:
            if self._is_cut:
                raise TimeoutError("cut off")
            self._connection = connection

    def end(self) -> None:
        """The request is over; its connection may serve another."""
        with self._lock:
            self._connection = None

    def cut(self) -> None:
        """Let whoever reads from it fail at once, and nobody use it any more."""
        with self._lock:
            self._is_cut = True
            connection, self._connection = self._connection, None
            sock = connection.sock if connection is not None else None
            if sock is not None:
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not TLS's own, which is for its own thread


_THREAD = threading.local()


@contextlib.contextmanager
def on(line: Line) -> Iterator[None]:
    """For the length of the block, what this thread requests goes over this line."""
    _THREAD.line = line
    try:
        yield
    finally:
        _THREAD.line = None
        line.end()


def _announce(connection: urllib3.connection.HTTPConnection) -> None:
    line: Line | None = getattr(_THREAD, "line", None)
    if line is not None:
        line.taken_by(connection)


class _Plain(urllib3.connection.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _announce(self)  # a line that was cut while it was still being laid takes no request

    def request(self, *args: Any, **kwargs: Any) -> None:
        _announce(self)
        super().request(*args, **kwargs)


class _Encrypted(urllib3.connection.HTTPSConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        _announce(self)
        super().request(*args, **kwargs)


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _EncryptedPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Encrypted


def make_cuttable(manager: urllib3.PoolManager) -> None:
    """Let all connections of this manager be ones that can be cut."""
    manager.pool_classes_by_scheme = {"http": _PlainPool, "https": _EncryptedPool}
