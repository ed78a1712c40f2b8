"""Ways in which a disk gives trouble: each can be made and mended while a gateway runs."""

import asyncio
import contextlib
import errno
import os
import shutil
import signal
from pathlib import Path
from typing import Protocol

from faults.suites.suite import Unable

STRACE = "strace is missing; install the Debian package strace (apt-get install strace)"
NO_TRACING = "strace may not look into processes here ({}); allow ptrace, or run as root"
ATTACH_SECONDS = 10.0


class Trouble(Protocol):
    """One way."""

    async def make(self, pid: int) -> None:
        """From here on the process has the trouble."""
        ...

    async def mend(self) -> None:
        """It has it no more. Harmless when the process has died."""
        ...


class Switch:
    """A file that the child looks for (see `disk.py`)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def make(self, pid: int) -> None:
        """Put it there."""
        self._path.touch()

    async def mend(self) -> None:
        """Take it away."""
        self._path.unlink()


class Ballast:
    """A file that takes what is left of a small disk."""

    def __init__(self, disk: Path) -> None:
        self._path = disk / "ballast"

    async def make(self, pid: int) -> None:
        """Write until nothing more fits, to the last byte."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while os.write(descriptor, bytes(size)):
                    pass
        os.close(descriptor)

    async def mend(self) -> None:
        """Give it back."""
        self._path.unlink()


class FailingSync:
    """Every fdatasync of the process fails with EIO: strace has the kernel say so."""

    def __init__(self) -> None:
        found = shutil.which("strace")
        if found is None:
            raise Unable(STRACE)
        self._binary = found
        self._tracer: asyncio.subprocess.Process | None = None

    async def make(self, pid: int) -> None:
        """Attach to every thread that it has or will have. Raises `Unable` when that is not allowed."""
        inject = f"inject=fdatasync:error={errno.errorcode[errno.EIO]}"
        command = (self._binary, "-f", "-p", str(pid), "-e", "trace=fdatasync", "-e", inject, "-o", os.devnull)
        self._tracer = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        assert self._tracer.stderr is not None
        said = await asyncio.wait_for(self._tracer.stderr.readline(), ATTACH_SECONDS)
        if b"attached" not in said:
            await self.mend()
            raise Unable(NO_TRACING.format(said.decode().strip()))

    async def mend(self) -> None:
        """Let go of it."""
        if self._tracer is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._tracer.send_signal(signal.SIGINT)
        await self._tracer.communicate()
        self._tracer = None
