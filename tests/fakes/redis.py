"""Stand-ins for Redis: a client for the limiter, and a server on a socket that says what a test wants."""

import asyncio
import contextlib
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from gateway.clients.redis import Answer, RedisFailed, Script, ScriptCall

Command = list[bytes]


class FakeRedis:
    """A client that says yes, unless a test has it say something else. It keeps what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[ScriptCall]] = []
        self.fails: RedisFailed | None = None
        """What every question meets with."""
        self.answer: Callable[[ScriptCall], Answer | RedisFailed] = yes
        self.gate = asyncio.Event()
        """Answers wait for it. It is open until a test closes it."""
        self.gate.set()
        self.spoilt = 0
        self.is_closed = False

    async def open(self) -> None:
        """Meets with what fails."""
        if self.fails is not None:
            raise self.fails

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Answer | RedisFailed]:
        """One answer per call."""
        self.batches.append(list(calls))
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return [self.answer(call) for call in calls]

    def spoil(self) -> None:
        """Counted."""
        self.spoilt += 1

    async def close(self) -> None:
        """Kept."""
        self.is_closed = True


def yes(call: ScriptCall) -> Answer | RedisFailed:
    """What the script says when every bucket has one left."""
    return [-1, 0, call.arguments[0].encode()]


def said_yes(command: Command) -> bytes:
    """The same, as a server says it to EVALSHA or EVAL."""
    word = command[3 + int(command[2])]
    return b"*3\r\n:-1\r\n:0\r\n$%d\r\n%s\r\n" % (len(word), word)


class SpeakingServer:
    """A server that reads commands as Redis does. `say` gives the bytes that answer one; None closes instead."""

    def __init__(self, say: Callable[[Command], bytes | None]) -> None:
        self.say = say
        self.heard: list[Command] = []
        self.connections = 0
        self.drip_seconds = 0.0
        """When set, every byte is sent so long after the last."""
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.connections += 1
        self._open.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while (said := self._hear(await _command(reader))) is not None:
                await self._send(writer, said)
        self._open.discard(writer)
        writer.close()

    def hang_up(self) -> None:
        """Close every connection."""
        for writer in self._open:
            writer.close()

    def _hear(self, command: Command) -> bytes | None:
        self.heard.append(command)
        return self.say(command)

    async def _send(self, writer: asyncio.StreamWriter, said: bytes) -> None:
        if not self.drip_seconds:
            writer.write(said)
            return
        for byte in said:
            await asyncio.sleep(self.drip_seconds)
            writer.write(bytes((byte,)))
            await writer.drain()


async def _command(reader: asyncio.StreamReader) -> Command:
    count = int((await reader.readuntil(b"\r\n"))[1:])
    command = []
    for _ in range(count):
        size = int((await reader.readuntil(b"\r\n"))[1:])
        command.append((await reader.readexactly(size + 2))[:-2])
    return command


@contextlib.asynccontextmanager
async def speaking(say: Callable[[Command], bytes | None]) -> AsyncIterator[tuple[SpeakingServer, Path]]:
    """Such a server on a Unix socket, and where."""
    server = SpeakingServer(say)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "redis.sock"
        listening = await asyncio.start_unix_server(server.serve, path)
        try:
            yield server, path
        finally:
            listening.close()
            server.hang_up()
            await asyncio.sleep(0)


def tell(path: Path, *words: str) -> str:
    """What a real server on a Unix socket answers to a command, as it came, at most 64 KiB of it."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(5)
        one.connect(str(path))
        one.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, words)))
        return one.recv(65536).decode()


class Relay:
    """Stands before a real server: slow when a test says so, and with TLS when it is given a context."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._tasks: set[asyncio.Task[None]] = set()
        self.delay_seconds = 0.0
        """How much later answers come."""
        self.port = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        far_reader, far_writer = await asyncio.open_unix_connection(self._target)
        there = asyncio.ensure_future(self._copy(reader, far_writer, is_answer=False))
        try:
            await self._copy(far_reader, writer, is_answer=True)
        except asyncio.CancelledError:
            pass
        finally:
            there.cancel()
            await asyncio.wait((there,))
            writer.transport.abort()
            far_writer.transport.abort()
            self._tasks.discard(task)

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if is_answer and self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                sink.write(data)
        sink.close()

    @contextlib.asynccontextmanager
    async def listening(self, context: ssl.SSLContext | None = None) -> AsyncIterator["Relay"]:
        """On a port of loopback."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)
