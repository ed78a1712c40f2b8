"""Looks at where PostgreSQL's messages begin before asyncpg does.

asyncpg 0.32 goes round for ever, and the whole process with it, at a message whose type is a zero byte, and takes a
length that makes no sense for one. Whoever answers in a server's place must not be able to stop a gateway by that.
"""

from typing import Any

from asyncpg import protocol  # type: ignore[import-untyped]

_TYPES = frozenset(b"ACDEGHIKNRSTVWZcdfnstv123")
"""Of everything that a server may send, by the documentation of the protocol."""
_HEAD_BYTES, _LEAST_BYTES, _MOST_BYTES = 5, 4, 1 << 30
"""A type and a length; the length counts itself, and no server sends a gigabyte in one message."""


class NotPostgres(ConnectionError):  # noqa: N818 - named for what it is
    """What came is no message of the protocol. Holds nothing of it."""


class Frames:
    """Follows one connection's messages, however they are cut."""

    def __init__(self) -> None:
        self._head = b""
        self._left = 0
        """How much of the message that has begun is still to come."""

    def follow(self, data: bytes) -> None:
        """More has come. Raises `NotPostgres`."""
        at, end = 0, len(data)
        while at < end:
            if self._left:
                step = min(self._left, end - at)
                self._left -= step
            else:
                step = min(_HEAD_BYTES - len(self._head), end - at)
                self._head += data[at : at + step]
                self._begin()
            at += step

    def _begin(self) -> None:
        if self._head[0] not in _TYPES:
            raise NotPostgres("a message of no known type")
        if len(self._head) < _HEAD_BYTES:
            return
        length = int.from_bytes(self._head[1:])
        if not _LEAST_BYTES <= length <= _MOST_BYTES:
            raise NotPostgres("a message of a length that cannot be")
        self._head, self._left = b"", length - _LEAST_BYTES


class Framed(protocol.Protocol):  # type: ignore[misc]  # asyncpg has no types
    """asyncpg's protocol behind `Frames`. What asyncio is raised it hands to `connection_lost`."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._frames = Frames()

    def data_received(self, data: bytes) -> None:
        """Raises `NotPostgres`; the connection is over then."""
        self._frames.follow(data)
        super().data_received(data)


def install() -> None:
    """Every connection from here on. asyncpg looks its protocol up by this name, and takes no other."""
    protocol.Protocol = Framed
