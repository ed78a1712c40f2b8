"""The main text of a page, found by processes that cannot hold up the gateway (see `adapters.web.reader`)."""

import asyncio
import json
import os
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.base import AdapterError, ErrorKind, Fault, Happened

READER = (sys.executable, "-P", "-m", "adapters.web.reader")
LENGTH = struct.Struct(">I")
"""What stands before each frame: its length."""
_WORKERS = 2
_WAITING = 8
_MAX_ANSWER_BYTES = 16 * 1024 * 1024
_ENVIRONMENT = frozenset({"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME"})
"""What a reader is given of the gateway's own: what Python needs, and no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """What was found; empty strings where nothing was."""

    title: str = field(repr=False)
    author: str = field(repr=False)
    date: str
    site: str = field(repr=False)
    description: str = field(repr=False)
    language: str
    text: str = field(repr=False)


class Extractor:
    """Two processes and a short queue. A page that takes too long loses its caller, and its process is ended."""

    def __init__(self, command: Sequence[str] = READER) -> None:
        self._command = tuple(command)
        self._places = _WORKERS + _WAITING
        self._workers = asyncio.Semaphore(_WORKERS)
        self._idle: list[Process] = []
        self._running: set[Process] = set()
        self._is_closed = False

    async def extract(self, html: str, url: str, seconds: float) -> Article:
        """The page's article, within so many seconds.

        Raises `AdapterError`: deadline, unavailable when all places are taken, malformed when the page
        cannot be read.
        """
        if self._is_closed or self._places == 0:
            raise _busy()
        self._places -= 1
        try:
            async with asyncio.timeout(max(seconds, 0.0)), self._workers:
                return await self._read(html, url, seconds)
        except TimeoutError as error:
            raise AdapterError(
                ErrorKind.DEADLINE,
                "The page took too long to read; fetch it with web_fetch instead.",
                happened=Happened.NO,
                fault=Fault.TIMEOUT,
            ) from error
        finally:
            self._places += 1

    async def close(self) -> None:
        """End every process; what is being read is given up. Calling it twice is harmless."""
        self._is_closed = True
        self._idle.clear()
        for process in tuple(self._running):
            await self._end(process)

    async def _read(self, html: str, url: str, seconds: float) -> Article:
        process = await self._reader()
        try:
            fields = await _ask(process, {"html": html, "url": url, "seconds": seconds})
        except (OSError, EOFError, ValueError) as error:  # it died of the page
            await self._end(process)
            raise _unreadable() from error
        except BaseException:  # too late, or the caller left: it is still at work
            await self._end(process)
            raise
        self._idle.append(process)
        if not fields:
            raise _unreadable()
        return Article(**fields)

    async def _reader(self) -> Process:
        """An idle process, or a new one. Raises `AdapterError` when none can be had."""
        while self._idle:
            process = self._idle.pop()
            if process.returncode is None:
                return process
            await self._end(process)
        if self._is_closed:
            raise _busy()
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
            )
        except OSError as error:
            raise _busy() from error
        self._running.add(process)
        return process

    async def _end(self, process: Process) -> None:
        self._running.discard(process)
        if process.returncode is None:
            process.kill()
        if process.stdin is not None:
            process.stdin.close()
        await process.wait()


async def _ask(process: Process, asked: dict[str, object]) -> dict[str, str]:
    """The answer's fields. Raises `OSError`, `EOFError` or `ValueError` when there is none."""
    assert process.stdin is not None
    assert process.stdout is not None
    question = json.dumps(asked).encode()
    process.stdin.write(LENGTH.pack(len(question)) + question)
    await process.stdin.drain()
    length = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))[0]
    if length > _MAX_ANSWER_BYTES:
        raise ValueError("a page's article is never so long")
    fields: dict[str, str] = json.loads(await process.stdout.readexactly(length))
    return fields


def _unreadable() -> AdapterError:
    return AdapterError(
        ErrorKind.MALFORMED,
        "The page cannot be read as HTML; fetch it with web_fetch instead.",
        happened=Happened.NO,
        fault=Fault.MALFORMED,
    )


def _busy() -> AdapterError:
    return AdapterError(
        ErrorKind.UNAVAILABLE,
        "Too many pages are being read at once; try again in a moment.",
        happened=Happened.NO,
        fault=Fault.REFUSED,
    )
