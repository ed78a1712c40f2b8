"""Bytes that are no messages of PostgreSQL's never reach asyncpg."""

import asyncio
import contextlib
import random

import pytest
from real.stores import CLOCK

from adapters.base import Fault
from gateway.settings.store import StoreSettings
from gateway.store.database import Database
from gateway.store.failures import StoreDown
from gateway.store.framing import Frames, NotPostgres

READY = b"Z\x00\x00\x00\x05I"
ROW = b"D\x00\x00\x01\x04" + bytes(256)
GOOD = b"".join((b"R\x00\x00\x00\x08\x00\x00\x00\x00", READY, b"1\x00\x00\x00\x04", ROW))
MIDDLE = b"D\x00\x00\x00\x14abc"


def test_good_messages_pass_however_they_are_cut() -> None:
    """In one piece, byte by byte, and in any other pieces; zeros inside a message are nothing to complain of."""
    chance = random.Random(5)
    for _ in range(200):
        frames, data = Frames(), GOOD * 2
        while data:
            cut = chance.randint(1, len(data))
            frames.follow(data[:cut])
            data = data[cut:]


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\x00\xff\x01\x02\x03",
        b"HTTP/1.1 200 OK\r\n",
        b"Z\x00\x00\x00\x03",
        b"Z\xff\xff\xff\xff",
        b"Z@\x00\x00\x01",
    ],
    ids=["zero", "noise", "http", "too short", "negative", "too long"],
)
def test_what_cannot_be_is_refused_at_once(data: bytes) -> None:
    """At the beginning and after good messages, in one piece and byte by byte."""
    for before in (b"", GOOD):
        with pytest.raises(NotPostgres):
            Frames().follow(before + data)
        with pytest.raises(NotPostgres):
            _follow_bytewise(before + data)


def _follow_bytewise(data: bytes) -> None:
    frames = Frames()
    for byte in data:
        frames.follow(bytes((byte,)))


def test_a_message_that_has_only_begun_is_waited_for() -> None:
    """Whatever it holds; the next one is looked at again."""
    frames = Frames()
    frames.follow(MIDDLE)
    frames.follow(bytes(13))
    with pytest.raises(NotPostgres):
        frames.follow(b"\x00")


@pytest.mark.parametrize("noise", [b"\x00\xff" + bytes(60), bytes(64), b"Z\xff\xff\xff\xff" * 9])
async def test_noise_in_place_of_a_server_stops_nobody(noise: bytes) -> None:
    """By itself asyncpg would never come back; it is told as an answer that cannot be read."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.read(8)
            writer.write(noise)
            await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        settings = StoreSettings(url=f"postgresql://127.0.0.1:{port}/x", user="app", timeout_ms=2000)
        database = Database(settings, CLOCK)
        with pytest.raises(StoreDown) as caught:
            async with database.nobody():
                pass
        await database.close()
    assert caught.value.fault is Fault.MALFORMED
