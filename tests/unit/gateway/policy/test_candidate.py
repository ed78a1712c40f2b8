"""A policy is tried elsewhere, within limits, and whatever goes wrong speaks against it."""

import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fakes.packs import ALLOW_ALL, DENY_ALL, ENDLESS, document_json, write_pack
from fakes.rows import tool

from gateway.policy.base import PolicyUnusable
from gateway.policy.candidate import Documents, Trial, Trials, tried_pack
from gateway.policy.pack import read_pack
from gateway.policy.timing import timing_documents

CUBIC = f"{ALLOW_ALL} if count([1 | input.arguments.tags[_]; input.arguments.tags[_]; input.arguments.tags[_]]) >= 0"
"""A thousand tags are a thousand million steps."""
TAGS = {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
MEMORY = "\n\n".join(
    [
        "a0 := [0]",
        *(f"a{n} := array.concat(a{n - 1}, a{n - 1})" for n in range(1, 36)),
        f"{ALLOW_ALL} if count(a35) > 0",
    ]
)
"""A list that doubles 35 times."""


def _documents() -> Iterator[tuple[str, bytes]]:
    for _ in range(3):
        yield "echo", document_json()


def _program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


async def test_a_good_policy_is_clean(tmp_path: Path) -> None:
    """Its revision is known, and it had every document."""
    folder = write_pack(tmp_path, ALLOW_ALL)
    trial = await Trials(max_ms=1000, documents=_documents)([folder])
    assert trial == Trial(revision=read_pack([folder]).revision)


async def test_the_problems_are_those_of_loading(tmp_path: Path) -> None:
    """File and rule come back, also when there is more to read than the process ever will."""
    many = [("echo", document_json())] * 2000
    (problem,) = (await Trials(max_ms=1000, documents=lambda: many)([write_pack(tmp_path, "decision :=")])).problems
    assert (problem.rule, problem.file.startswith(str(tmp_path))) == ("syntax", True)


async def test_a_slow_tool_is_named(tmp_path: Path) -> None:
    """Measured there, told here."""
    trial = await Trials(max_ms=0.0001, documents=_documents)([write_pack(tmp_path, ALLOW_ALL)])
    assert [problem.rule for problem in trial.problems] == ["too_slow", "too_slow"]
    assert trial.problems[1].message.startswith("tool echo: the decision takes ")


async def test_other_documents_take_the_place_of_its_own(tmp_path: Path) -> None:
    """For one trial."""
    trials = Trials(max_ms=0.0001, documents=_documents)
    trial = await trials([write_pack(tmp_path, ALLOW_ALL)], lambda: [("other", document_json())])
    assert trial.problems[1].message.startswith("tool other: ")


async def test_a_policy_that_never_ends_is_ended_and_holds_up_nothing(tmp_path: Path) -> None:
    """Three nested loops over the largest list: refused within the limit, with the tool, on a loop that lives."""
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            longest = max(longest, time.perf_counter() - before)

    beating = asyncio.create_task(beat())
    trials = Trials(max_ms=10, seconds=3, documents=lambda: timing_documents([tool(input_schema=TAGS)]))
    begun = time.perf_counter()
    (problem,) = (await trials([write_pack(tmp_path, CUBIC)])).problems
    took = time.perf_counter() - begun
    beating.cancel()
    assert problem.rule == "too_slow"
    assert problem.message.startswith("it did not end within 3.1 s while it decided tool echo;")
    assert took < 8
    assert longest < 1


async def test_a_policy_that_never_ends_while_it_is_loaded_is_ended(tmp_path: Path) -> None:
    """There is no tool to name."""
    (problem,) = (await Trials(max_ms=10, seconds=1)([write_pack(tmp_path, ENDLESS)])).problems
    assert str(problem).startswith("-: too_slow: it did not end within 1 s while it was loaded;")


async def test_a_policy_that_takes_all_memory_is_refused(tmp_path: Path) -> None:
    """Its process dies of it, and no other."""
    (problem,) = (await Trials(max_ms=10, seconds=30)([write_pack(tmp_path, MEMORY)])).problems
    assert problem.message.startswith("it cannot be examined (its process was ended by signal ")


async def test_each_document_adds_to_the_time(tmp_path: Path) -> None:
    """Many tools need longer than one; each line is a document begun."""
    text = (
        "import time\n"
        'for _ in range(20): print(\'{"tool": "echo"}\', flush=True); time.sleep(0.1)\n'
        'print(\'{"revision": "r", "problems": []}\')'
    )
    many = [("echo", b"{}")] * 19
    trials = Trials(max_ms=100, seconds=1.5, documents=lambda: many, command=_program(text))
    assert await trials([tmp_path]) == Trial(revision="r")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "print('hunter2')",
        "print('[]')",
        'print(\'{"revision": "", "problems": []}\')',
        'print(\'{"revision": "r", "problems": []}\')',
        'print(\'{"revision": "r", "problems": ["hunter2"]}\')',
        'print(\'{"tool": ""}\\n{"revision": "r", "problems": []}\'); raise SystemExit(1)',
        "import os; os.abort()",
        "print('x' * 20_000_000)",
    ],
)
async def test_what_is_no_answer_is_broken(text: str, tmp_path: Path) -> None:
    """Dead, silent, nonsense, or clean without having had every document: the policy was not tried."""
    (problem,) = (await Trials(max_ms=10, command=_program(text))([tmp_path])).problems
    assert problem.rule == "broken"
    assert "hunter2" not in problem.message


async def test_documents_that_cannot_be_made_are_broken(tmp_path: Path) -> None:
    """Their exception's text, which may quote data, stays out."""

    def fails() -> Iterator[tuple[str, bytes]]:
        yield "echo", document_json()
        raise RuntimeError("hunter2")

    (problem,) = (await Trials(max_ms=1000, documents=fails)([write_pack(tmp_path, ALLOW_ALL)])).problems
    assert problem.message == "it cannot be examined (RuntimeError); undo the last change"


async def test_a_process_that_cannot_be_started_is_broken(tmp_path: Path) -> None:
    """No trial, no policy."""
    (problem,) = (await Trials(max_ms=10, command=["/nowhere/python"])([tmp_path])).problems
    assert problem.rule == "broken"


async def test_no_secret_reaches_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment, only what Python needs."""
    monkeypatch.setenv("TOLLHOUSE_SECRET", "hunter2")
    seen = tmp_path / "seen"
    await Trials(max_ms=10, command=_program(f"import os; open({str(seen)!r}, 'w').write(repr(dict(os.environ)))"))([])
    assert "hunter2" not in seen.read_text()
    assert "'RUST_BACKTRACE': '0'" in seen.read_text()


async def test_whoever_leaves_takes_the_process_along(tmp_path: Path) -> None:
    """A cancelled trial leaves nothing running."""
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    text = f"import os,time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    trying = asyncio.ensure_future(Trials(max_ms=10, command=_program(text))([]))
    pid = int(await asyncio.to_thread(pid_file.read_text))
    trying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trying
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_pack_is_the_one_that_was_tried(tmp_path: Path) -> None:
    """What changed between trial and reading is tried again."""
    tried = []

    async def try_out(folders: Sequence[Path], _documents: Documents | None = None) -> Trial:
        tried.append(read_pack(folders).revision)
        if len(tried) == 1:
            write_pack(tmp_path, DENY_ALL)
        return Trial(revision=tried[-1])

    pack = await tried_pack([write_pack(tmp_path, ALLOW_ALL)], try_out)
    assert (len(tried), pack.revision) == (2, tried[-1])


async def test_a_folder_that_is_never_still_is_a_problem(tmp_path: Path) -> None:
    """What was not tried does not decide."""

    async def try_out(_folders: Sequence[Path], _documents: Documents | None = None) -> Trial:
        return Trial(revision="another")

    with pytest.raises(PolicyUnusable, match="changed: changes all the time"):
        await tried_pack([write_pack(tmp_path, ALLOW_ALL)], try_out)
