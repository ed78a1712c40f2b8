"""A process that tries a policy, started by `gateway.policy.candidate` and ended by it at will.

The embedded engine cannot be interrupted and holds the interpreter: a policy that never ends may freeze this
process, and no other.

    python -m gateway.policy.trial MAX_MS STEP_SECONDS FOLDER...

On standard input stand frames: two lengths, the name of a tool and an input document. On standard output stand
lines of JSON: `{"tool"}` whenever a document is about to be decided, and at the end `{"revision", "problems"}`.
"""

import contextlib
import itertools
import json
import math
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Protocol

from gateway.call import Decision
from gateway.errors import Refusal
from gateway.policy.base import PolicyProblem, PolicyUnusable
from gateway.policy.embedded import PROBE, EmbeddedEngine
from gateway.policy.pack import read_pack

HEAD = struct.Struct(">II")
"""What stands before each frame: the lengths of name and document."""
RUNS = 3
"""The best of so many counts: another process's noise must not refuse a good policy."""
NOBODY = ""
"""The tool of the first document, that of the engine's own load-time check."""
MAX_MEMORY_BYTES = 2 * 1024**3
"""Half of it the engine's allocator reserves at once, and counts it as used."""

Begin = Callable[[str], None]
"""Told the tool of each document before it is decided."""


class Decides(Protocol):
    """An engine that can be asked without a loop."""

    def decide_now(self, input_json: bytes) -> Decision:
        """The decision, or `Refusal`."""
        ...


def try_policy(
    folders: Sequence[Path],
    documents: Iterable[tuple[str, bytes]],
    *,
    max_ms: float,
    begin: Begin,
    clock: Callable[[], float],
) -> tuple[str, tuple[PolicyProblem, ...]]:
    """The revision in the folders, empty when it does not load, and everything that is wrong with it."""
    try:
        engine = EmbeddedEngine(read_pack(folders))
    except PolicyUnusable as unusable:
        return "", unusable.problems
    judged = itertools.chain([(NOBODY, PROBE.encode())], documents)
    return engine.revision, slow_tools(engine, judged, max_ms=max_ms, begin=begin, clock=clock)


def slow_tools(
    engine: Decides,
    documents: Iterable[tuple[str, bytes]],
    *,
    max_ms: float,
    begin: Begin,
    clock: Callable[[], float],
) -> tuple[PolicyProblem, ...]:
    """A problem for each tool of whose documents one takes longer than `max_ms`, with the time measured.

    The documents of a tool stand together. `clock` counts seconds of this thread's work: on a busy machine
    it is not the policy that takes the time in between.
    """
    problems = []
    for tool, group in itertools.groupby(documents, key=lambda pair: pair[0]):
        slowest = 0.0
        for _, document in group:
            begin(tool)
            slowest = max(slowest, _seconds(engine, document, clock, enough=max_ms / 1000))
        if 1000 * slowest > max_ms:
            message = f"{call_of(tool)}: the decision takes {1000 * slowest:.1f} ms, more than {max_ms:g} ms"
            problems.append(PolicyProblem(file="-", rule="too_slow", message=message))
    return tuple(problems)


def call_of(tool: str) -> str:
    """The tool, as problems name it."""
    return "a call of nobody" if tool == NOBODY else f"tool {tool}"


def _seconds(engine: Decides, document: bytes, clock: Callable[[], float], *, enough: float) -> float:
    """The best of some runs; one that is quick enough needs no other."""
    best = float("inf")
    for _ in range(RUNS):
        begun = clock()
        with contextlib.suppress(Refusal):  # it is timed here; what it decides is not judged
            engine.decide_now(document)
        best = min(best, clock() - begun)
        if best <= enough:
            break
    return best


def read_frames(source: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Every tool and document until the input ends. Raises `EOFError` when it ends within a frame."""
    while head := source.read(HEAD.size):
        name, document = HEAD.unpack(head) if len(head) == HEAD.size else (1, 0)
        frame = source.read(name + document)
        if len(frame) != name + document:
            raise EOFError("the input ends within a frame")
        yield frame[:name].decode(), frame[name:]


def main(arguments: Sequence[str], source: BinaryIO, sink: BinaryIO) -> None:
    """Try the policy that the arguments name, and answer."""
    max_ms, step_seconds, *folders = arguments
    seconds = math.ceil(float(step_seconds))

    def begin(tool: str) -> None:
        signal.alarm(seconds)  # nobody is left to end this process when the gateway was killed
        _say(sink, {"tool": tool})

    signal.alarm(seconds)
    revision, problems = try_policy(
        [Path(folder) for folder in folders],
        read_frames(source),
        max_ms=float(max_ms),
        begin=begin,
        clock=time.thread_time,
    )
    signal.alarm(0)
    _say(sink, {"revision": revision, "problems": [asdict(problem) for problem in problems]})


def _say(sink: BinaryIO, line: dict[str, object]) -> None:
    sink.write(json.dumps(line).encode() + b"\n")
    sink.flush()


def _confine() -> None:
    """Ctrl-C is the gateway's; memory is bounded; a crash leaves nothing on the disk."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _at_most(resource.RLIMIT_DATA, MAX_MEMORY_BYTES)
    _at_most(resource.RLIMIT_CORE, 0)


def _at_most(limit: int, most: int) -> None:
    """Lower a limit; one that is lower already stays."""
    _, hard = resource.getrlimit(limit)
    lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (lower, lower))


if __name__ == "__main__":
    _confine()
    main(sys.argv[1:], sys.stdin.buffer, sys.stdout.buffer)
