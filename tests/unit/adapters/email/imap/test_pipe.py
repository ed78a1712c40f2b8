"""Bytes from and to a server, and never more than was asked for."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trustme
import uvloop

from adapters.email.imap.pipe import _HELD_BYTES, Flood, Injected, Pipe

Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def pipe_to(peer: Peer, left: int = 10_000_000) -> AsyncIterator[Pipe]:
    """A pipe to a server that does what `peer` says, and then hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await peer(reader, writer)
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    pipe = await Pipe.connect("127.0.0.1", server.sockets[0].getsockname()[1], None, left)
    try:
        yield pipe
    finally:
        pipe.abort()
        server.close()
        await server.wait_closed()


def saying(*pieces: bytes) -> Peer:
    """These bytes, one after the other."""

    async def peer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    return peer


async def test_lines_and_bytes_come_as_they_were_sent() -> None:
    """However they were cut on the way; at the end the connection is lost."""
    async with pipe_to(saying(b"one\r", b"\ntwo\r\nth", b"ree", b"\r\n")) as pipe:
        assert [await pipe.line(100), await pipe.exactly(3), await pipe.line(100)] == [b"one", b"two", b""]
        assert await pipe.line(100) == b"three"
        with pytest.raises(ConnectionError):
            await pipe.line(100)
        with pytest.raises(ConnectionError):
            await pipe.exactly(1)


async def test_a_line_has_a_largest_length() -> None:
    """With an end or without."""
    for data in (b"x" * 101 + b"\r\n", b"x" * 500_000):
        async with pipe_to(saying(data)) as pipe:
            with pytest.raises(Flood):
                await pipe.line(100)


async def test_there_is_a_most_that_is_read_in_all() -> None:
    """Said before anybody waits for it."""
    async with pipe_to(saying(b"abc\r\n" * 100), left=10) as pipe:
        with pytest.raises(Flood):
            await pipe.exactly(11)
        for _ in range(3):
            await pipe.line(100)
        with pytest.raises(Flood):
            await pipe.line(100)


async def test_a_server_that_sends_without_end_has_to_wait() -> None:
    """Nothing piles up while nobody reads."""
    sent = 0

    async def peer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
            sent += 65536

    async with pipe_to(peer, left=100_000_000) as pipe:
        assert await pipe.exactly(10) == b"x" * 10
        for _ in range(200):
            await asyncio.sleep(0)
        assert len(pipe._held) < _HELD_BYTES + 2 * 1024 * 1024
        assert len(await pipe.exactly(20_000_000)) == 20_000_000


async def test_words_in_the_clear_before_encryption_are_refused() -> None:
    """Whoever put them there did not prove who he is."""
    async with pipe_to(saying(b"T1 OK go\r\n* OK injected\r\n")) as pipe:
        assert await pipe.line(100) == b"T1 OK go"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        with pytest.raises(Injected):
            await pipe.encrypt("localhost", context)


@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_connection_is_encrypted_on_the_way(factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """On both event loops; the server's name is checked."""
    authority = trustme.CA()
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(theirs)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(ours)

    async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"go\r\n")
        await writer.drain()
        await writer.start_tls(theirs)
        writer.write(b"secret " + await reader.readline())
        await writer.drain()

    async def talk(name: str) -> bytes:
        async with pipe_to(peer) as pipe:
            await pipe.write(b"STARTTLS\r\n")
            await pipe.line(100)
            await pipe.encrypt(name, ours)
            await pipe.write(b"hello\r\n")
            return await pipe.line(100)

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(talk("localhost")) == b"secret hello"
        with pytest.raises(ssl.SSLCertVerificationError):
            runner.run(talk("other.example"))


async def test_writing_to_nobody_is_an_error() -> None:
    """And letting go twice is harmless."""
    async with pipe_to(saying()) as pipe:
        with pytest.raises(ConnectionError):
            await pipe.line(10)
        with pytest.raises(ConnectionError):
            await pipe.write(b"x")
        pipe.write_last(b"x")
        pipe.abort()
    idle = Pipe(10)
    idle.abort()
    idle.write_last(b"x")
    with pytest.raises(ConnectionError):
        await idle.write(b"x")
