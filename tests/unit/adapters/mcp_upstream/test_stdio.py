"""A server that is a process: how it is started, how it is spoken with, and how it ends."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.mcp_wire import NOBODY, Reached, command_of, running, text_of, unheard, until

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Secret
from adapters.mcp_upstream import rpc, stdio


@pytest.fixture
async def reached() -> AsyncIterator[Reached]:
    """Sessions with a process."""
    async with running() as opened:
        yield opened


UNKNOWN = Happened.UNKNOWN


async def _error(awaitable: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await awaitable
    return caught.value


async def _pid(reached: Reached) -> int:
    return int(orjson.loads(text_of(await reached.call("environment")))["pid"])


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


async def test_a_call(reached: Reached) -> None:
    """One message a line; what is printed besides is passed over."""
    assert text_of(await reached.call("echo", {"text": "a\nb"})) == '{"text": "a\\nb"}'
    async with running(noise="Server ready\nMCP on stdio") as noisy:
        assert text_of(await noisy.call("echo")) == "{}"


async def test_the_process_has_nothing_of_the_gateway(reached: Reached, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three words of environment, its pipes and no other descriptor, its own session and, if it can be, user."""
    monkeypatch.setenv("VAULT_TOKEN", "sesame")
    inherited = os.dup2(0, 200, inheritable=True)
    try:
        facts = orjson.loads(text_of(await reached.call("environment")))
    finally:
        os.close(inherited)
    assert {name: value for name, value in facts["environment"].items() if name != "LC_CTYPE"} == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
    }
    assert inherited not in facts["descriptors"]
    assert facts["leads"]
    assert facts["folder"] == "/tmp"
    if os.geteuid() == 0:
        assert (facts["uid"], facts["gid"], facts["groups"]) == (NOBODY, NOBODY, [])


async def test_many_calls_at_once(reached: Reached) -> None:
    """Each gets its own answer, the slow one last."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 5
    late = asyncio.create_task(session.call("late", {}, deadline, unheard, has_effect=False))
    calls = (session.call("echo", {"text": str(one)}, deadline, unheard, has_effect=False) for one in range(50))
    answers = [orjson.loads(text_of(answer))["text"] for answer in await asyncio.gather(*calls)]
    assert answers == [str(one) for one in range(50)]
    assert text_of(await late) == "late"


@pytest.mark.parametrize("has_effect", [True, False])
async def test_a_process_that_dies_fails_its_calls_at_once(reached: Reached, has_effect: bool) -> None:
    """All of them; and the next one starts another process."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 60
    hanging = asyncio.create_task(session.call("hang", {}, deadline, unheard, has_effect=has_effect))
    crashing = session.call("crash", {}, deadline, unheard, has_effect=has_effect)
    async with asyncio.timeout(5):
        for error in (await _error(crashing), await _error(hanging)):
            assert (error.kind, error.fault) == (ErrorKind.UNAVAILABLE, Fault.RESET)
            assert error.happened is (Happened.UNKNOWN if has_effect else Happened.NO)
    assert (await _error(session.call("echo", {}, deadline, unheard, has_effect=True))).happened is Happened.NO
    assert await reached.of() is not session
    assert text_of(await reached.call("echo")) == "{}"


async def test_one_that_dies_again_and_again_is_left_alone(reached: Reached) -> None:
    """For longer and longer; nothing is called meanwhile."""
    for _ in range(2):
        await _error(reached.call("crash"))
    error = await _error(reached.of())
    assert (error.kind, error.happened, error.retry_after_seconds) == (ErrorKind.UNAVAILABLE, Happened.NO, 1.0)
    assert reached.sessions.open_circuits == 1
    reached.clock.advance(1.0)
    await _error(reached.call("crash"))
    assert (await _error(reached.of())).retry_after_seconds == 2.0
    reached.clock.advance(61.0)
    assert text_of(await reached.call("echo")) == "{}"
    assert reached.sessions.open_circuits == 0


async def test_the_whole_group_ends_with_the_session(reached: Reached) -> None:
    """Also what the process has started and what does not listen to SIGTERM."""
    pid, child = await _pid(reached), int(text_of(await reached.call("child")))
    assert _runs(pid)
    assert _runs(child)
    await reached.sessions.close()
    await until(lambda: not _runs(pid) and not _runs(child))


async def test_what_a_dead_process_started_ends_too(reached: Reached) -> None:
    """At once."""
    child = int(text_of(await reached.call("child")))
    await _error(reached.call("crash"))
    await until(lambda: not _runs(child))


async def test_a_line_without_an_end_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read into memory."""
    monkeypatch.setattr(rpc, "MAX_MESSAGE_BYTES", 100_000)
    async with running() as reached:
        error = await _error(reached.call("huge", has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.UNKNOWN)


async def test_noise_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What prints nothing but nonsense is ended."""
    monkeypatch.setattr(stdio, "MAX_NOISE", 5)
    async with running(noise="x\n" * 10) as reached:
        error = await _error(reached.of())
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


@pytest.mark.parametrize("name", ["garbage", "deep", "other_id", "hang"])
async def test_the_deadline_ends_everything(reached: Reached, name: str) -> None:
    """Nonsense is passed over, as is an answer to another question; the process goes on."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 0.3
    error = await _error(session.call(name, {}, deadline, unheard, has_effect=True))
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.UNKNOWN)
    assert text_of(await reached.call("echo")) == "{}"


async def test_a_flood_does_not_stop_anything(reached: Reached) -> None:
    """Notifications without an end are passed over, while others are answered."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 0.5
    flood = asyncio.create_task(session.call("flood", {}, deadline, unheard, has_effect=False))
    assert text_of(await reached.call("echo")) == "{}"
    assert (await _error(flood)).kind is ErrorKind.DEADLINE


async def test_a_flood_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what comes unasked so much is read; then the process is ended."""
    monkeypatch.setattr(stdio, "MAX_UNASKED_BYTES", 1_000_000)
    async with running() as reached:
        error = await _error(reached.call("flood", has_effect=True))
        assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.UNKNOWN)
        assert text_of(await reached.call("echo")) == "{}"


async def test_after_the_deadline_nothing_is_sent(reached: Reached) -> None:
    """Nor for a list."""
    session = await reached.of()
    for late in (-1.0, 0.0):
        call = session.call("echo", {}, reached.clock.monotonic() + late, unheard, has_effect=True)
        assert (await _error(call)).happened is Happened.NO


async def test_the_stateless_revision() -> None:
    """Is found out; a call is cancelled by telling, since there is no stream to let go of."""
    async with running(is_modern=True, protocol="2026-07-28") as reached:
        session = await reached.of()
        deadline = reached.clock.monotonic() + 5
        assert session.server.protocol == "2026-07-28"
        assert [one["name"] for one in await session.tools(deadline)] == ["echo", "fail"]
        assert text_of(await session.call("echo", {}, deadline, unheard, has_effect=False)) == "{}"
        assert text_of(await session.call("heard", {}, deadline, unheard, has_effect=False)) == "[]"
        assert (await _error(session.call("hang", {}, deadline - 4.8, unheard, has_effect=True))).happened is UNKNOWN
        told = text_of(await session.call("heard", {}, deadline, unheard, has_effect=False))
        assert [one["method"] for one in orjson.loads(told)] == ["notifications/cancelled"]


async def test_what_it_writes_to_stderr_goes_nowhere(reached: Reached, capfd: pytest.CaptureFixture[str]) -> None:
    """However much that is, it does not block either."""
    assert text_of(await reached.call("shout")) == "shouted"
    assert "sesame" not in "".join(capfd.readouterr())


async def test_one_that_does_not_read_is_not_written_to_without_end() -> None:
    """A call whose turn never came was not sent, and its error says so."""
    loop = f"import json, sys, time\n{_ANSWERS_ONCE}\ntime.sleep(60)"
    argv = (command_of().argv[0], "-I", "-c", loop)
    async with running() as reached:
        reached.sessions._commands = {"fake": replace(command_of(), argv=argv)}  # type: ignore[attr-defined]
        session = await reached.of()
        now = reached.clock.monotonic()
        large = {"text": "x" * 1_000_000}
        first = asyncio.create_task(session.call("echo", large, now + 0.3, unheard, has_effect=True))
        await asyncio.sleep(0)
        second = asyncio.create_task(session.call("echo", large, now + 0.3, unheard, has_effect=True))
        assert (await _error(first)).happened is Happened.UNKNOWN
        assert (await _error(second)).happened is Happened.NO
        third = session.call("echo", large, now + 0.1, unheard, has_effect=True)
        assert (await _error(third)).happened is Happened.NO


_ANSWERS_ONCE = """
asked = json.loads(sys.stdin.readline())
agreed = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": agreed}), flush=True)
"""


async def test_a_process_takes_no_credential(reached: Reached) -> None:
    """It would have to go into its environment or its arguments, where others read it."""
    error = await _error(reached.sessions.of(replace(reached.invocation(), credential=Secret("sesame"))))
    assert (error.kind, error.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


async def test_a_process_that_was_killed_ends_its_calls_though_another_one_holds_its_pipe(reached: Reached) -> None:
    """What it has started, in a session of its own, would keep everybody waiting for ever."""
    code = (
        f"import subprocess, sys, json, os, time\n{_ANSWERS_ONCE}\n"
        "child = subprocess.Popen(['/bin/sleep', '30'], start_new_session=True)\n"
        "asked = json.loads(sys.stdin.readline()); asked = json.loads(sys.stdin.readline())\n"
        "result = {'content': [{'type': 'text', 'text': str(child.pid)}]}\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
        "sys.stdin.readline(); os._exit(0)"
    )
    reached.sessions._commands = {"fake": replace(command_of(), argv=(command_of().argv[0], "-c", code))}  # type: ignore[attr-defined]
    session = await reached.of()
    deadline = reached.clock.monotonic() + 20
    child = int(text_of(await session.call("pid", {}, deadline, unheard, has_effect=False)))
    try:
        async with asyncio.timeout(10):
            error = await _error(session.call("echo", {}, deadline, unheard, has_effect=True))
        assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.UNKNOWN)
        assert _runs(child)
        assert not session.is_open
    finally:
        os.kill(child, signal.SIGKILL)


async def test_short_lines_without_an_end_are_a_flood_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes its time, however little is in it."""
    monkeypatch.setattr(stdio, "MAX_UNASKED_BYTES", 100 * stdio.LEAST_BYTES)
    async with running() as reached:
        raw = "\n" * 1000
        error = await _error(reached.call("raw", {"raw": raw}, has_effect=True))
        assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.UNKNOWN)


async def test_a_process_has_the_usual_signals_and_gains_no_rights() -> None:
    """None that Python ignores, or whoever started it, stays ignored; no program's own user is had by running it."""
    code = (
        f"import sys, json\n{_ANSWERS_ONCE}\n"
        "asked = json.loads(sys.stdin.readline()); asked = json.loads(sys.stdin.readline())\n"
        "result = {'content': [{'type': 'text', 'text': status}]}\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], 'result': result}), flush=True)\n"
    )
    async with running() as reached:
        argv = ("/bin/sh", "-c", 'status=$(/bin/cat /proc/self/status); export status; exec "$0" -c "$1"')
        script = code.replace("import sys, json", "import os, sys, json\nstatus = os.environ['status']")
        command = replace(command_of(), argv=(*argv, command_of().argv[0], script))
        reached.sessions._commands = {"fake": command}  # type: ignore[attr-defined]
        status = dict(line.split(":\t") for line in text_of(await reached.call("status")).splitlines() if ":\t" in line)
    ignored = int(status["SigIgn"].strip(), 16)
    assert [one for one in signal.valid_signals() if ignored & 1 << (one - 1)] == []
    assert status["NoNewPrivs"].strip() == "1"


async def test_a_call_that_waits_for_its_turn_while_the_tools_change_is_not_sent(reached: Reached) -> None:
    """It would go to a tool that nobody has accepted."""
    session = await reached.of()
    deadline = reached.clock.monotonic() + 5
    async with session._wire._turn:
        call = asyncio.create_task(session.call("echo", {}, deadline, unheard, has_effect=True))
        await asyncio.sleep(0)
        session.tools_changed += 1
    error = await _error(call)
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert text_of(await reached.call("echo")) == "{}"
