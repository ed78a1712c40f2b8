"""A gateway in a process of its own, which can be killed, and a stub that calls it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fakes.served import channel_to
from gateway.v1 import tool_service_pb2_grpc as rpc

TESTS = Path(__file__).parent.parent


@contextlib.asynccontextmanager
async def gateway_process(code: str, folder: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The code has `folder` and `arguments` in `sys.argv` and prints `ready`; it is killed in the end if it still runs.

    What it writes to standard error is kept in `log.jsonl` of the folder.
    """
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with (folder / "log.jsonl").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code, str(folder), *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=environment,
        )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n", (folder / "log.jsonl").read_text()
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def calling(folder: Path) -> AsyncIterator[Any]:
    """A stub of the gateway whose socket is in the folder."""
    async with channel_to(f"unix:{folder / 'g.sock'}") as channel:
        yield rpc.ToolServiceStub(channel)
