"""The demo's own processes: each a Python of this installation that gets nothing but what it needs, and is always
ended.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from gateway.cli.demo.project import Project
from gateway.errors import StartError

START_SECONDS = 25.0
STOP_SECONDS = 8.0
COMMAND_SECONDS = 20.0
LONGEST_ANSWER = 16 * 1024 * 1024
KILLED = -9

_ENVIRONMENT = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR"})


async def start(arguments: Sequence[str], folder: Path, **streams: Any) -> asyncio.subprocess.Process:
    """A Python of this installation in a session of its own, so that Ctrl-C reaches the demo alone."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
        env=_environment(),
        start_new_session=True,
        limit=LONGEST_ANSWER,
        **({"stdin": asyncio.subprocess.DEVNULL} | streams),
    )


def _environment() -> dict[str, str]:
    """What a process needs to run, and nothing that might be a secret or change its way."""
    kept = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
    return kept | {"COLUMNS": "120", "RUST_BACKTRACE": "0", "PYTHONUTF8": "1"}


async def stop(process: asyncio.subprocess.Process) -> int:
    """The process's exit code, after it was asked to end and, if it had to be, made to."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
        except asyncio.CancelledError:
            process.kill()
            raise
    return await process.wait()


async def typed(words: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Exit code, output and complaints of `tollhouse WORDS`. One that takes too long is killed."""
    process = await start(["-m", "gateway", *words], folder, stderr=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        return KILLED, "", "it did not end"
    finally:
        await stop(process)
    return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


@contextlib.asynccontextmanager
async def gateway(project: Project, exit_codes: list[int]) -> AsyncIterator[None]:
    """The gateway as a process of its own, ready to be called; stopped in the end, and `exit_codes` gets how."""
    log, screen = project.logs / "gateway.log", project.logs / "screen.txt"
    with log.open("wb") as log_file, screen.open("wb") as screen_file:
        serve = ["-m", "gateway", "serve", "--config", str(project.settings)]
        process = await start(serve, project.root, stderr=log_file)
        assert process.stdout is not None
        reader: asyncio.Task[None] | None = None
        try:
            screen_file.write(await _first_line(process, log))
            reader = asyncio.create_task(_copy(process.stdout, screen_file))
            yield
        finally:
            exit_codes.append(await stop(process))
            if reader is not None:
                await reader


async def _first_line(process: asyncio.subprocess.Process, log: Path) -> bytes:
    """The gateway prints its screen when it is ready. Raises `StartError` when it ends before."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
            if not line:
                await process.wait()  # a signal sent right now would take its exit code away from asyncio
    except TimeoutError as error:
        raise StartError(f"the gateway did not start within {START_SECONDS:.0f} s; see {log}") from error
    if not line:
        raise StartError("the gateway did not start; its log ends with:", tuple(_last_lines(log)))
    return line


def _last_lines(log: Path) -> list[str]:
    return log.read_text("utf-8", "replace").splitlines()[-12:]


async def _copy(stream: asyncio.StreamReader, into: Any) -> None:
    while chunk := await stream.read(65536):
        into.write(chunk)
    into.flush()
