"""Gateways in processes of their own, forked from one that has everything loaded: a start takes a tenth of the time.

usage: python nursery.py MODULE
MODULE has a function `main` that takes the options of one process and says `told(ready=...)`. Standard input brings
the options, a line of JSON each; standard output tells what becomes of the processes.
"""

import asyncio
import contextlib
import importlib
import json
import os
import selectors
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, NoReturn

TESTS = Path(__file__).parent.parent.parent
GATEWAY = "faults.suites.gateway_child"
"""The module of whole gateways."""
START_SECONDS = 60.0


class NotStarted(Exception):  # noqa: N818 - named for what it is
    """The process ended instead of serving; what it said last."""


class Child:
    """One process."""

    def __init__(self, log: Path) -> None:
        self.pid = 0
        self._log = log
        self.ready = asyncio.Event()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """How it ended: 0, its exit code, or the negative number of the signal that killed it."""

    def signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if not self.ended.done():
            os.kill(self.pid, number)

    async def stop(self, seconds: float = 20.0) -> int:
        """Let it drain; how it ended."""
        self.signal(signal.SIGTERM)
        return await asyncio.wait_for(asyncio.shield(self.ended), seconds)

    async def is_up(self) -> None:
        """Return once it serves. Raises `NotStarted`."""
        ready = asyncio.ensure_future(self.ready.wait())
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.wait((ready, self.ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self.ended.done():
            raise NotStarted(self._log.read_text().strip().rpartition("\n")[2])


class Nursery:
    """Starts processes. What is left of them is killed with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._starting: list[Child] = []
        self._children: dict[int, Child] = {}

    async def start(self, folder: Path, **options: Any) -> Child:
        """A process that serves, in a folder that is there; it writes `log.jsonl` there. Raises `NotStarted`."""
        assert self._process.stdin is not None
        child = Child(folder / "log.jsonl")
        self._starting.append(child)
        self._process.stdin.write(json.dumps({"folder": str(folder), **options}).encode() + b"\n")
        await child.is_up()
        return child

    async def listen(self) -> None:
        """Hear what becomes of them, until it is over."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            self._hear(json.loads(line))

    def kill_all(self) -> None:
        """Whatever still runs."""
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                child.signal(signal.SIGKILL)

    def _hear(self, said: dict[str, Any]) -> None:
        pid = said["pid"]
        if said["what"] == "forked":  # in the order in which they were asked for
            self._children[pid] = child = self._starting.pop(0)
            child.pid = pid
        elif said["what"] == "ready":
            self._children[pid].ready.set()
        elif not (ended := self._children.pop(pid).ended).done():
            ended.set_result(said["status"])


@contextlib.asynccontextmanager
async def nursery(module: str) -> AsyncIterator[Nursery]:
    """One for the length of the block."""
    path = filter(None, (str(TESTS), os.environ.get("PYTHONPATH")))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "RUST_BACKTRACE": "0"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", str(Path(__file__)), module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    made = Nursery(process)
    listening = asyncio.ensure_future(made.listen())
    try:
        yield made
    finally:
        made.kill_all()
        process.kill()
        await process.wait()
        await listening


def told(what: str, pid: int, status: int = 0) -> None:
    """One line to whoever started the nursery; short enough never to be mixed up with another's."""
    os.write(1, json.dumps({"what": what, "pid": pid, "status": status}).encode() + b"\n")


def _live(module: Any) -> None:
    """Fork for every line that comes, and tell of every process that ends."""
    watched = selectors.DefaultSelector()
    watched.register(sys.stdin.fileno(), selectors.EVENT_READ)
    rest = b""
    while True:
        for key, _ in watched.select():
            if key.fileobj != sys.stdin.fileno():
                watched.unregister(key.fileobj)
                _tell_end(key.data, int(key.fd))
                continue
            read = os.read(sys.stdin.fileno(), 65536)
            if not read:  # whoever started us is gone
                _kill(child.data for child in watched.get_map().values() if child.data)
                return
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                pid = _fork(module, json.loads(line))
                watched.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def _tell_end(pid: int, descriptor: int) -> None:
    os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    told("ended", pid, os.waitstatus_to_exitcode(status))


def _fork(module: Any, options: dict[str, Any]) -> int:
    pid = os.fork()
    if not pid:
        _be(module, options)
    told("forked", pid)
    return pid


def _be(module: Any, options: dict[str, Any]) -> NoReturn:
    """In the new process: run, and never come back."""
    status = 1
    try:
        log = os.open(Path(options["folder"]) / "log.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        module.main(options)
        status = 0
    except BaseException:  # noqa: BLE001 - it is written down, and the process ends
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    # The same module as the one that is imported, or `told` would be another.
    _live(importlib.import_module(sys.argv[1]))
