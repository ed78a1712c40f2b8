"""A policy that may not decide yet: it is tried in a process of its own (see `gateway.policy.trial`), which is
ended when it takes too long. Whatever goes wrong on the way is a problem of the policy.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.policy.pack import Pack, read_pack
from gateway.policy.trial import HEAD, RUNS, call_of

TRIAL = (sys.executable, "-P", "-m", "gateway.policy.trial")
TRIAL_SECONDS = 10.0
_DOCUMENT_SECONDS = 0.05
"""What each document adds to the time for all, at least."""
_TRIES = 2
_CHUNK_BYTES = 64 * 1024
_MAX_LINE_BYTES = 16 * 1024 * 1024
_ENVIRONMENT = frozenset({"PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME"})
"""What the process is given of the gateway's own: what Python needs, and no secret."""

Documents = Callable[[], Iterable[tuple[str, bytes]]]
"""Makes what a policy is timed on: the name of a tool and an input document, a tool's one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of a policy: the revision that was tried, or what is wrong."""

    revision: str = ""
    problems: tuple[PolicyProblem, ...] = ()


class TryOut(Protocol):
    """Says what speaks against a policy before it may decide. It raises nothing."""

    def __call__(self, folders: Sequence[Path], documents: Documents | None = None) -> Awaitable[Trial]:
        """The trial of what is in the folders, on these documents or on those that are tried anyway."""
        ...


async def tried_pack(folders: Sequence[Path], try_out: TryOut) -> Pack:
    """The pack in the folders, exactly as it was tried. Raises `PolicyUnusable`."""
    for _ in range(_TRIES):
        trial = await try_out(folders)
        if trial.problems:
            raise PolicyUnusable(*trial.problems)
        pack = await asyncio.to_thread(read_pack, folders)
        if pack.revision == trial.revision:
            return pack
    message = "changes all the time while it is examined; load again"
    raise PolicyUnusable(PolicyProblem(file="-", rule="changed", message=message))


class Trials:
    """Tries policies, each in a process of its own."""

    def __init__(
        self,
        *,
        max_ms: float,
        documents: Documents = lambda: (),
        seconds: float | None = None,
        command: Sequence[str] = TRIAL,
    ) -> None:
        """`max_ms` is what one decision may take, `seconds` the whole; each document adds to the latter.
        `documents` is called and iterated in worker threads, one at a time.
        """
        self._max_ms = max_ms
        self._documents = documents
        self._seconds = TRIAL_SECONDS if seconds is None else seconds
        self._command = tuple(command)
        self._document_seconds = max(_DOCUMENT_SECONDS, RUNS * max_ms / 1000)

    async def __call__(self, folders: Sequence[Path], documents: Documents | None = None) -> Trial:
        """The trial of what is in the folders, on these documents when they are given. It raises nothing, and
        leaves no process behind.
        """
        heard = _Heard()
        try:
            async with asyncio.timeout(self._seconds) as limit, self._started(folders) as process:
                return await self._followed(process, documents or self._documents, heard, limit)
        except TimeoutError:
            seconds = self._seconds + heard.lines * self._document_seconds
            return Trial(problems=(_endless(seconds, heard),))
        except Exception as error:  # noqa: BLE001 - whatever stops a trial, the policy was not tried
            return Trial(problems=(broken(type(error).__name__),))

    async def _followed(self, process: Process, documents: Documents, heard: "_Heard", limit: asyncio.Timeout) -> Trial:
        def on_lines(count: int) -> None:
            if not limit.expired():
                limit.reschedule((limit.when() or 0.0) + count * self._document_seconds)

        listening = asyncio.create_task(_listen(process, heard, on_lines))
        try:
            sent = await _feed(process, documents)
            await listening
        finally:
            listening.cancel()
            await asyncio.wait([listening])
        code = await process.wait()
        if code != 0:
            return Trial(problems=(broken(_end_of(code)),))
        trial = _answer(heard.last)
        # Every document, that of nobody, and the answer: a policy that was not tried on all is not clean.
        if not trial.problems and heard.lines != sent + 2:
            raise ValueError("documents are missing")
        return trial

    @contextlib.asynccontextmanager
    async def _started(self, folders: Sequence[Path]) -> AsyncIterator[Process]:
        """A process with a group of its own, which ends with the block."""
        environment = {name: value for name, value in os.environ.items() if name in _ENVIRONMENT}
        step_seconds = self._seconds + self._document_seconds + 1
        process = await asyncio.create_subprocess_exec(
            *self._command,
            repr(self._max_ms),
            repr(step_seconds),
            *map(str, folders),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={**environment, "RUST_BACKTRACE": "0"},
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            _stdin(process).close()
            await process.communicate()  # what it still said; a full pipe would keep it from being waited for


class _Heard:
    """The lines of a process: how many, and the last of them. One that is too long is cut, and is no answer."""

    def __init__(self) -> None:
        self.lines = 0
        self.last = b""
        self._rest = bytearray()

    def add(self, chunk: bytes) -> int:
        """Keep it; the number of lines that it ends."""
        whole, end, rest = chunk.rpartition(b"\n")
        if end:
            self.last = bytes(self._rest + whole).rpartition(b"\n")[2]
            self._rest.clear()
        if len(self._rest) < _MAX_LINE_BYTES:
            self._rest += rest
        count = whole.count(b"\n") + len(end)
        self.lines += count
        return count


async def _listen(process: Process, heard: _Heard, on_lines: Callable[[int], None]) -> None:
    assert process.stdout is not None
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        on_lines(heard.add(chunk))


async def _feed(process: Process, documents: Documents) -> int:
    """Write the documents as they are made; their number. A process that no longer reads gets no more."""
    stdin, sent = _stdin(process), 0
    pairs = await asyncio.to_thread(lambda: iter(documents()))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while frames := await asyncio.to_thread(_chunk, pairs):
            stdin.write(b"".join(frames))
            await stdin.drain()
            sent += len(frames)
    stdin.close()
    return sent


def _chunk(pairs: Iterator[tuple[str, bytes]]) -> list[bytes]:
    """The next frames, as many as a pipe holds; empty at the end."""
    frames: list[bytes] = []
    size = 0
    while size < _CHUNK_BYTES and (pair := next(pairs, None)) is not None:
        name = pair[0].encode()
        frames.append(HEAD.pack(len(name), len(pair[1])) + name + pair[1])
        size += len(frames[-1])
    return frames


def _stdin(process: Process) -> asyncio.StreamWriter:
    assert process.stdin is not None
    return process.stdin


def _answer(line: bytes) -> Trial:
    """The last line. Raises `ValueError`, `KeyError` or `TypeError` when it is no answer."""
    said = json.loads(line)
    revision = said["revision"]
    problems = tuple(PolicyProblem(**{key: str(value) for key, value in each.items()}) for each in said["problems"])
    if not isinstance(revision, str) or not (revision or problems):
        raise ValueError("neither a revision nor a problem")
    return Trial(revision=revision, problems=problems)


def _endless(seconds: float, heard: _Heard) -> PolicyProblem:
    where = "while it was loaded"
    with contextlib.suppress(ValueError, KeyError, TypeError):
        where = f"while it decided {call_of(json.loads(heard.last)['tool'])}"
    message = f"it did not end within {seconds:.3g} s {where}; make it decide in less time"
    return PolicyProblem(file="-", rule="too_slow", message=message)


def _end_of(code: int) -> str:
    return f"its process was ended by signal {-code}" if code < 0 else "its process failed"


def broken(what: str) -> PolicyProblem:
    """What went wrong in a way that no check foresaw; its text may quote data, so it stays out."""
    message = f"it cannot be examined ({what}); undo the last change"
    return PolicyProblem(file="-", rule="broken", message=message)
