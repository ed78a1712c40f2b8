"""A vendor in a process of its own: every effect is in its log, on disk, before it answers.

usage: python effects.py SOCKET LOG
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aiohttp import web

PATH = "/effects"


@contextlib.asynccontextmanager
async def vendor(socket: Path, log: Path) -> AsyncIterator[None]:
    """One that runs for the length of the block."""
    command = (sys.executable, "-P", str(Path(__file__)), str(socket), str(log))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.kill()
        await process.wait()


def effects_in(log: Path) -> list[dict[str, Any]]:
    """What the vendor did, oldest first: `effect_id` as the gateway gave it, and `key`, what it was done to."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def _serve(socket: str, log: int) -> None:
    async def act(request: web.Request) -> web.Response:
        effect = await request.json()
        os.write(log, json.dumps({name: effect[name] for name in ("effect_id", "key")}).encode() + b"\n")
        os.fdatasync(log)
        return web.json_response({"done": True})

    application = web.Application()

    async def look(_request: web.Request) -> web.Response:
        return web.json_response({"done": False})

    application.router.add_post(PATH, act)
    application.router.add_get(PATH, look)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.UnixSite(runner, socket).start()
    os.write(1, b"ready\n")
    await asyncio.to_thread(sys.stdin.read)  # it ends with whoever started us


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)))
