"""A relay before a real server, which breaks what goes through it in the ways in which networks and servers do."""

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from enum import StrEnum

UNIX = "unix:"
SLOW_SECONDS = 1.0
DRIP_SECONDS = 0.02
_CHUNK_BYTES = 65536
_AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER that makes closing a reset."""


class Way(StrEnum):
    """What a relay does."""

    PASS = "pass"
    """Hand on what comes."""
    REFUSE = "refuse"
    """Nobody listens, and the connections that there were are gone."""
    HANG = "hang"
    """Hand on what is asked and hold back every answer; all of them come when that ends."""
    SLOW = "slow"
    """Every answer comes `SLOW_SECONDS` later, or as much as a relay is told."""
    DRIP = "drip"
    """Every byte of an answer comes `DRIP_SECONDS` after the one before."""
    GARBAGE = "garbage"
    """Bytes of no protocol instead of an answer."""
    NONSENSE = "nonsense"
    """Answers that are well-formed and mean nothing."""
    RESET = "reset"
    """Half of an answer, then the connection is torn down."""


Nonsense = Callable[[bytes], bytes]
"""The well-formed answers to what was just read; empty when nothing was asked in it."""


class Relay:
    """Stands before a server at `unix:PATH` or `HOST:PORT`. Use it on one loop."""

    def __init__(self, target: str, nonsense: Nonsense, *, slow_seconds: float = SLOW_SECONDS) -> None:
        self.address = ""
        """Where it listens, as `target` is written."""
        self._target = target
        self._nonsense = nonsense
        self._slow_seconds = slow_seconds
        self._way = Way.PASS
        self._turned = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._chance = random.Random(7)

    @contextlib.asynccontextmanager
    async def listening(self, address: str) -> AsyncIterator["Relay"]:
        """At `unix:PATH`, or at `HOST:0` for any port."""
        self.address = address
        await self._listen()
        try:
            yield self
        finally:
            await self._close()

    async def turn(self, way: Way) -> None:
        """Do this from now on, also on connections that are open."""
        before, self._way = self._way, way
        turned, self._turned = self._turned, asyncio.Event()
        turned.set()
        if way is Way.REFUSE:
            await self._close()
        elif before is Way.REFUSE:
            await self._listen()

    async def _listen(self) -> None:
        if self.address.startswith(UNIX):
            self._server = await asyncio.start_unix_server(self._serve, self.address.removeprefix(UNIX))
            return
        host, _, port = self.address.rpartition(":")
        self._server = await asyncio.start_server(self._serve, host, int(port))
        self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = tuple(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, and the one to the server that belongs to it; they end together."""
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._join(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._reached()
        ways = (self._ask(reader, far_writer, writer), self._answer(far_reader, writer))
        tasks = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            far_writer.transport.abort()  # first: whoever closes the relay may cancel what comes here
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _reached(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._target.startswith(UNIX):
            return await asyncio.open_unix_connection(self._target.removeprefix(UNIX))
        host, _, port = self._target.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def _ask(self, reader: asyncio.StreamReader, far: asyncio.StreamWriter, near: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            if self._way is Way.GARBAGE:
                near.write(self._garbage())
            elif self._way is Way.NONSENSE:
                near.write(self._nonsense(data))
            else:
                far.write(data)

    async def _answer(self, far: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        while data := await far.read(_CHUNK_BYTES):
            left = await self._broken(data, near)
            if left is None:
                return
            near.write(left)

    async def _broken(self, data: bytes, near: asyncio.StreamWriter) -> bytes | None:
        """What of an answer is handed on now; None when the connection is over."""
        while self._way is Way.HANG:
            await self._turned.wait()
        if self._way is Way.RESET:
            await _break_off(data, near)
            return None
        if self._way is Way.SLOW:
            await asyncio.sleep(self._slow_seconds)
        elif self._way is Way.DRIP:
            return await self._dripped(data, near)
        return data

    def _garbage(self) -> bytes:
        return b"\x00\xff" + self._chance.randbytes(60) + b"\r\n\r\n"

    async def _dripped(self, data: bytes, near: asyncio.StreamWriter) -> bytes:
        """What is left of the answer when that ends."""
        while data and self._way is Way.DRIP:
            near.write(data[:1])
            data = data[1:]
            await asyncio.sleep(DRIP_SECONDS)
        return data


async def _break_off(data: bytes, near: asyncio.StreamWriter) -> None:
    near.write(data[: len(data) // 2])
    await near.drain()
    near.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    near.transport.abort()


class HttpNonsense:
    """One of these bodies for each request, in turn."""

    def __init__(self, *bodies: bytes, status: str = "200 OK") -> None:
        self._bodies = bodies
        self._status = status.encode()
        self._said = 0

    def __call__(self, data: bytes) -> bytes:
        """Requests begin with a line that ends in the version."""
        return b"".join(self._next() for _ in range(data.count(b" HTTP/1.1\r\n")))

    def _next(self) -> bytes:
        body = self._bodies[self._said % len(self._bodies)]
        self._said += 1
        head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        return head % (self._status, len(body)) + body


class AtMark(Relay):
    """Breaks those answers alone in which the server says a word: everything else goes through."""

    def __init__(self, target: str, mark: bytes, *, slow_seconds: float = SLOW_SECONDS) -> None:
        super().__init__(target, lambda _data: b"", slow_seconds=slow_seconds)
        self._mark = mark

    async def _ask(self, reader: asyncio.StreamReader, far: asyncio.StreamWriter, near: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            far.write(data)

    async def _broken(self, data: bytes, near: asyncio.StreamWriter) -> bytes | None:
        if self._mark not in data:
            return data
        return self._garbage() if self._way is Way.GARBAGE else await super()._broken(data, near)


class RedisNonsense:
    """One of these answers for each run of a script, in turn."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = answers
        self._said = 0

    def __call__(self, data: bytes) -> bytes:
        """Scripts are run by EVALSHA, and by EVAL when they were lost."""
        asked = data.count(b"EVALSHA\r\n") + data.count(b"EVAL\r\n")
        return b"".join(self._next() for _ in range(asked))

    def _next(self) -> bytes:
        answer = self._answers[self._said % len(self._answers)]
        self._said += 1
        return answer


def postgres_error(asked: bytes) -> bytes:
    """What a server answers that fails at everything: one error, and that it is ready again where it is asked to be."""
    types = list(_types_of(asked))
    error = _message(b"E", b"SERROR\x00VERROR\x00CXX000\x00Mno such luck\x00\x00") if set(types) - set("SX") else b""
    return error + _message(b"Z", b"I") * sum(kind in "SQ" for kind in types)


def _types_of(asked: bytes) -> Iterator[str]:
    """Of each message; a greeting has none and is one that fails."""
    while asked:
        is_greeting = not asked[0]
        yield "greeting" if is_greeting else chr(asked[0])
        asked = asked[int.from_bytes(asked[0:4] if is_greeting else asked[1:5]) + (not is_greeting) :]


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + (len(content) + 4).to_bytes(4) + content
