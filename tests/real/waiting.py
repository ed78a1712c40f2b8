"""Waiting for what a real server or a thread will bring about."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable

POLL_SECONDS = 0.02


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 5.0) -> None:
    """Return when it holds, looked at fifty times a second; `TimeoutError` when it does not come to."""
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(POLL_SECONDS)


def accepts(port: int) -> bool:
    """Whether somebody accepts connections on this port of loopback."""
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.connect(("127.0.0.1", port))
        return True
    return False
