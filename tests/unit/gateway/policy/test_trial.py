"""What is found out about a policy in a process of its own."""

import io
import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.packs import ALLOW_ALL, ENDLESS, document_json, pack, write_pack
from fakes.rows import tool

from gateway.call import Decision
from gateway.errors import Reason, Refusal
from gateway.policy.base import PolicyProblem
from gateway.policy.embedded import EmbeddedEngine
from gateway.policy.pack import read_pack
from gateway.policy.timing import timing_documents
from gateway.policy.trial import HEAD, NOBODY, main, read_frames, slow_tools, try_policy


class Watch:
    """An engine that takes the given milliseconds, in turn, and keeps the documents; its clock is `clock`."""

    def __init__(self, *milliseconds: float) -> None:
        self._takes = itertools.cycle(milliseconds)
        self._now = 0.0
        self.documents: list[bytes] = []

    def clock(self) -> float:
        """Seconds, which pass by deciding alone."""
        return self._now

    def decide_now(self, input_json: bytes) -> Decision:
        """Nothing, after a while."""
        self.documents.append(input_json)
        self._now += next(self._takes) / 1000
        raise Refusal(Reason.POLICY_UNDEFINED, "")


def _judged(watch: Watch, *names: str) -> tuple[PolicyProblem, ...]:
    documents = [(name, b"{}") for name in names]
    return slow_tools(watch, documents, max_ms=10, begin=lambda _tool: None, clock=watch.clock)


def _frame(name: bytes, document: bytes) -> bytes:
    return HEAD.pack(len(name), len(document)) + name + document


def test_a_slow_policy_is_refused_with_tool_and_time() -> None:
    """The author learns for which tool, and how long it took."""
    (problem,) = _judged(Watch(12.3), "echo")
    assert problem.rule == "too_slow"
    assert problem.message == "tool echo: the decision takes 12.3 ms, more than 10 ms"


def test_a_slow_run_is_measured_again() -> None:
    """Another process's noise does not refuse a good policy; the first quick run is enough."""
    watch = Watch(50, 9, 50)
    assert _judged(watch, "echo") == ()
    assert len(watch.documents) == 2


def test_each_tool_is_judged_once() -> None:
    """One problem for each slow tool, with its slowest document; a call of nobody is named so."""
    problems = _judged(Watch(11, 11, 11, 12, 12, 12, 13, 13, 13), NOBODY, "echo", "echo")
    assert [problem.message.split(", ")[0] for problem in problems] == [
        "a call of nobody: the decision takes 11.0 ms",
        "tool echo: the decision takes 13.0 ms",
    ]


def test_each_document_is_told_before_it_is_decided() -> None:
    """Whoever ends the process knows what it was at."""
    watch, told = Watch(1), []
    slow_tools(
        watch,
        [("a", b"{}"), ("a", b"{}"), ("b", b"{}")],
        max_ms=10,
        begin=lambda name: told.append((name, len(watch.documents))),
        clock=watch.clock,
    )
    assert told == [("a", 0), ("a", 1), ("b", 2)]


def test_a_quadratic_policy_is_found() -> None:
    """On the engine: quick on one recipient, far too slow on as many as the schema admits."""
    text = f"{ALLOW_ALL} if count([1 | some x in input.arguments.to; some y in input.arguments.to; x == y]) >= 0"
    items = {"type": "array", "items": {"type": "string", "maxLength": 20}}
    engine = EmbeddedEngine(pack(text))

    def judged(most: int) -> int:
        schema = {"type": "object", "properties": {"to": {**items, "maxItems": most}}}
        documents = timing_documents([tool(input_schema=schema)])
        found = slow_tools(engine, documents, max_ms=5, begin=lambda _tool: None, clock=time.thread_time)
        return len(found)

    assert (judged(1), judged(500)) == (0, 1)


def test_a_policy_that_does_not_load_is_tried_on_nothing(tmp_path: Path) -> None:
    """Its problems are the answer, and no revision."""
    folder, told = write_pack(tmp_path, "decision :="), []
    revision, problems = try_policy([folder], [("echo", b"{}")], max_ms=10, begin=told.append, clock=time.thread_time)
    assert (revision, [problem.rule for problem in problems], told) == ("", ["syntax"], [])


def test_the_answer_is_the_last_line(tmp_path: Path) -> None:
    """Before it stands a line for each document, that of nobody first."""
    folder, sink = write_pack(tmp_path, ALLOW_ALL), io.BytesIO()
    source = io.BytesIO(_frame(b"echo", document_json()) * 2)
    main(["1000.0", "30.0", str(folder)], source, sink)
    assert [json.loads(line) for line in sink.getvalue().splitlines()] == [
        {"tool": NOBODY},
        {"tool": "echo"},
        {"tool": "echo"},
        {"revision": read_pack([folder]).revision, "problems": []},
    ]


@pytest.mark.parametrize("cut", [1, HEAD.size, HEAD.size + 5])
def test_input_that_ends_within_a_frame_is_an_error(cut: int) -> None:
    """Half a document is not tried as if it were one."""
    whole = _frame(b"echo", b"{}")
    assert list(read_frames(io.BytesIO(whole))) == [("echo", b"{}")]
    with pytest.raises(EOFError):
        list(read_frames(io.BytesIO(whole[:cut])))


def test_a_process_that_nobody_ends_ends_itself(tmp_path: Path) -> None:
    """The gateway may be killed during a trial; what it started does not compute for days."""
    folder = write_pack(tmp_path, ENDLESS)
    command = [sys.executable, "-P", "-m", "gateway.policy.trial", "10.0", "1.0", str(folder)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGALRM, b"")
