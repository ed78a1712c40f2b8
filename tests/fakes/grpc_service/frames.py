"""A server that speaks HTTP/2 frame by frame, so that an answer can be broken at any place."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
_PREFACE = 24
_ACK, _END_STREAM, _END_HEADERS = 1, 1, 4

Script = Callable[[int], Sequence[bytes]]
"""The frames that answer a stream; an empty one closes the connection."""


@dataclass
class FrameServer:
    """Where it listens, and how many requests were read to their end."""

    port: int = 0
    read: list[int] = field(default_factory=list)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def headers(stream: int, fields: Sequence[tuple[str, str]], *, is_last: bool = False) -> bytes:
    """A HEADERS frame, nothing in it compressed."""
    block = b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)
    return frame(HEADERS, _END_HEADERS | (_END_STREAM if is_last else 0), stream, block)


def begun(stream: int, status: str = "200") -> bytes:
    """The headers of an answer."""
    return headers(stream, [(":status", status), ("content-type", "application/grpc")])


def message(stream: int, data: bytes, *, flags: int = 0) -> bytes:
    """A message of an answer."""
    return frame(DATA, flags, stream, b"\x00" + len(data).to_bytes(4) + data)


def ended(stream: int, status: str) -> bytes:
    """The trailers of an answer."""
    return headers(stream, [("grpc-status", status)], is_last=True)


def reset(stream: int, code: int) -> bytes:
    """The stream is given up."""
    return frame(RST_STREAM, 0, stream, code.to_bytes(4))


def goaway(last: int, code: int = 0) -> bytes:
    """The connection is given up; streams after `last` were not looked at."""
    return frame(GOAWAY, 0, 0, last.to_bytes(4) + code.to_bytes(4))


def _text(text: str) -> bytes:
    assert len(text) < 127
    return bytes([len(text)]) + text.encode()


@asynccontextmanager
async def frame_server(script: Script) -> AsyncIterator[FrameServer]:
    """Every request, once it is read to its end, is answered by what the script says of its stream."""
    itself = FrameServer()
    tasks: list[asyncio.Task[None]] = []

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.append(asyncio.create_task(serve(reader, writer)))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(_PREFACE)
        writer.write(frame(SETTINGS, 0, 0))
        try:
            while True:
                await _one(itself, reader, writer, script)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    itself.port = server.sockets[0].getsockname()[1]
    try:
        yield itself
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(itself: FrameServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, script: Script) -> None:
    head = await reader.readexactly(9)
    kind, flags, stream = head[3], head[4], int.from_bytes(head[5:9]) & 0x7FFF_FFFF
    payload = await reader.readexactly(int.from_bytes(head[:3]))
    if kind in (SETTINGS, PING) and not flags & _ACK:
        writer.write(frame(kind, _ACK, 0, payload if kind == PING else b""))
    if kind in (DATA, HEADERS) and flags & _END_STREAM:
        itself.read.append(stream)
        for part in script(stream):
            if not part:
                raise ConnectionResetError
            writer.write(part)
        await writer.drain()
