"""Standard output that hangs or is closed. What it does otherwise is in tests/contract/test_outlet.py."""

import asyncio
import os

import pytest
from fakes.audit import until

from gateway.audit.outlets.base import OutletDown
from gateway.audit.outlets.stdout import StdoutOutlet
from gateway.audit.reading import Written

BIG = b"x" * 200_000 + b"\n"


async def test_a_pipe_that_nobody_reads_hangs_nobody() -> None:
    """The delivery is given up by who waits; what was on its way comes out once, when somebody reads."""
    reading, writing = os.pipe()
    outlet = StdoutOutlet(writing)
    lines = [Written(1, BIG), Written(2, BIG)]
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(outlet.deliver(lines), 0.02)
    got = bytearray()

    def read() -> None:
        while len(got) < 2 * len(BIG) + 3:
            got.extend(os.read(reading, 65536))

    reader = asyncio.get_running_loop().run_in_executor(None, read)
    await outlet.deliver([*lines, Written(3, b"c3\n")])
    await reader
    assert bytes(got) == BIG + BIG + b"c3\n"
    os.close(writing)
    os.close(reading)


async def test_a_closed_pipe_is_told() -> None:
    """And tried again."""
    reading, writing = os.pipe()
    os.close(reading)
    outlet = StdoutOutlet(writing)
    for _ in range(2):
        with pytest.raises(OutletDown, match="standard output cannot be written"):
            await outlet.deliver([Written(1, b"c1\n")])
    os.close(writing)


async def test_a_thread_that_outlives_its_loop_ends_quietly() -> None:
    """The process is ending, and nobody waits any more."""
    reading, writing = os.pipe()
    outlet = StdoutOutlet(writing)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(outlet.deliver([Written(1, BIG)]), 0.02)
    os.read(reading, 65536)
    os.close(reading)
    assert outlet._writing is not None
    await until(outlet._writing.done)
    os.close(writing)
