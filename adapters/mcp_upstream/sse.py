"""Server-sent events as they come in pieces: the data of each, whole, and never more of it than is read."""

from collections.abc import Iterator

_LINE_ENDS = (b"\n", b"\r")


MAX_LINES = 1_000_000
"""In one stream: each takes its time, however short it is."""


class Flood(Exception):  # noqa: N818 - the server does it, and it is mapped at once
    """One event, or one line, is larger than is read, or there are more lines than are."""


class Events:
    """Reads one stream. Names other than `message`, ids, retry times and comments are passed over."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._lines = 0
        self._name = b""
        self._is_after_return = False
        self._is_first = True

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that ends in this piece. Raises `Flood`."""
        if self._is_after_return and piece.startswith(b"\n"):
            piece = piece[1:]
            self._is_after_return = False
        if piece:
            self._is_after_return = piece.endswith(b"\r")
        for part in piece.splitlines(keepends=True):
            is_whole = part.endswith(_LINE_ENDS)
            self._line += part.rstrip(b"\r\n") if is_whole else part
            self._lines += is_whole
            if len(self._line) + self._size > self._max_bytes or self._lines > MAX_LINES:
                raise Flood
            if is_whole:
                line = bytes(self._line)
                self._line.clear()
                yield from self._take(line)

    def _take(self, line: bytes) -> Iterator[bytes]:
        if self._is_first:
            self._is_first, line = False, line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            yield from self._event()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"event":
            self._name = value

    def _event(self) -> Iterator[bytes]:
        data, name = b"\n".join(self._data), self._name
        self._data, self._size, self._name = [], 0, b""
        if data and name in (b"", b"message"):
            yield data
