"""The process that takes pictures, and the browser that it starts: brought up for one page, and gone after it."""

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Target
from adapters.web.extraction import LENGTH

MAX_PICTURE_BYTES = 2_500_000
PHOTOGRAPHER = (sys.executable, "-P", "-m", "adapters.web.photographer")
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
"""What is looked for on the PATH when the connection names none."""
NOT_STARTED = "The browser could not be started; an operator has to look at the connection's browser options."
_MAX_TOLD_BYTES = 64 * 1024
_MAX_REMOVALS = 5
_NOTICED_SECONDS = 0.1
_ENVIRONMENT = frozenset({"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "FONTCONFIG_PATH"})
"""What the browser is given of the gateway's own: no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a browser brought back."""

    told: dict[str, Any] = field(repr=False)
    png: bytes = field(repr=False)


def browser_of(target: Target) -> str:
    """The path of the browser. Raises `AdapterError` (unavailable), which says what is to be installed."""
    if importlib.util.find_spec("playwright") is None:
        raise not_installed()
    named = target.options.get("browser")
    found = shutil.which(str(named)) if named is not None else next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise not_installed()
    return found


async def picture_of(command: Sequence[str], wanted: Mapping[str, Any]) -> Picture:
    """What the process answers. When this ends, however it ends, it and what it started and wrote are gone.

    Raises `AdapterError`: unavailable when it cannot be started or dies, too_large for a picture beyond the bound.
    """
    async with _folder() as home, _process(command, home) as process:
        return await _asked(process, wanted)


async def _asked(process: Process, wanted: Mapping[str, Any]) -> Picture:
    """What the process answers. One that dies of a page says nothing."""
    assert process.stdin is not None
    assert process.stdout is not None
    question = json.dumps(dict(wanted)).encode()
    try:
        process.stdin.write(LENGTH.pack(len(question)) + question)
        await process.stdin.drain()
        told = dict(json.loads(await _frame(process.stdout, _MAX_TOLD_BYTES)))
        return Picture(told=told, png=await _frame(process.stdout, MAX_PICTURE_BYTES))
    except (OSError, EOFError, ValueError, TypeError) as error:
        raise no(ErrorKind.UNAVAILABLE, "The browser broke off; try again later.") from error


async def _frame(stream: asyncio.StreamReader, most: int) -> bytes:
    length = LENGTH.unpack(await stream.readexactly(LENGTH.size))[0]
    if length > most:
        raise no(ErrorKind.TOO_LARGE, "The picture is larger than can be taken; ask for a smaller window.")
    return await stream.readexactly(length)


@asynccontextmanager
async def _process(command: Sequence[str], home: str) -> AsyncIterator[Process]:
    """The photographer, in a session of its own; it and whatever it has started are gone when the block ends."""
    environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
    environment |= {"HOME": home, "TMPDIR": home, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home}
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, start_new_session=True
        )
    except OSError as error:
        raise no(ErrorKind.UNAVAILABLE, NOT_STARTED) from error
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the browser goes when its pipe does
        if process.stdin is not None:
            process.stdin.close()
        await process.communicate()  # what nobody reads would keep the pipe open


@asynccontextmanager
async def _folder() -> AsyncIterator[str]:
    """A home for one browser, which is gone with it."""
    path = await asyncio.to_thread(tempfile.mkdtemp, prefix="tollhouse-browser-")
    tries = 1
    try:
        yield path
    except BaseException:
        tries = _MAX_REMOVALS  # a browser that was broken off writes until it notices
        raise
    finally:
        for number in range(tries):
            if number:
                await asyncio.sleep(_NOTICED_SECONDS)
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


def not_installed() -> AdapterError:
    """There is no browser here, and what is to be done about it."""
    message = "Pictures need a browser: the operator installs tollhouse[browser] and Chromium, or names its path."
    return AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.NOT_LOADED)


def no(kind: ErrorKind, message: str) -> AdapterError:
    """There is no picture."""
    fault = Fault.MALFORMED if kind is ErrorKind.MALFORMED else Fault.ERROR
    return AdapterError(kind, message, happened=Happened.NO, fault=fault)
