"""The command as users run it: a process of its own, from an empty folder to a verified audit."""

import asyncio
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.packs import ENDLESS

from gateway.cli.starting import next_commands

COMMAND = [sys.executable, "-P", "-m", "gateway"]


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command's end; no test waits longer than half a minute for it."""
    environment = {name: value for name, value in os.environ.items() if name != "TOLLHOUSE_SOCKET"} | {"COLUMNS": "120"}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=30
    )


@contextlib.asynccontextmanager
async def _serving(*arguments: str, cwd: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A gateway that is ready. It is ended by SIGTERM, and must end well."""
    with (cwd / "screen.txt").open("w") as screen, (cwd / "log.jsonl").open("w") as log:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            "serve",
            *arguments,
            cwd=cwd,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=os.environ | {"COLUMNS": "120"},
        )
        assert process.stdout is not None
        try:
            first = await process.stdout.readline()
            screen.write(first.decode())
            assert first, f"it did not start: {(cwd / 'log.jsonl').read_text()}"
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            rest = await process.stdout.read()
            screen.write(rest.decode())
            code = await process.wait()
    assert code == 0, (cwd / "log.jsonl").read_text()


async def test_from_an_empty_folder_to_a_first_call(tmp_path: Path) -> None:
    """`init`, and the three commands that it tells: each works as it is printed."""
    assert _run("init", "my-gateway", cwd=tmp_path).returncode == 0
    serve, call, test = (shlex.split(command)[1:] for command in next_commands(Path("my-gateway")))
    async with _serving(*serve[1:], cwd=tmp_path):
        called = await asyncio.to_thread(_run, *call, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    assert "Europe/Warsaw" in called.stdout
    assert _run(*test, cwd=tmp_path).returncode == 0
    screen = (tmp_path / "screen.txt").read_text()
    assert "acme/assistant sees 1" in screen
    assert "Nobody can call" not in screen
    for line in (tmp_path / "log.jsonl").read_text().splitlines():
        assert json.loads(line)["event"]


async def test_what_was_called_is_in_the_audit_and_a_changed_line_is_found(tmp_path: Path) -> None:
    """A call, an explanation and refusals leave a line each; `verify` is 0, and 1 once a byte was changed."""
    _run("init", ".", cwd=tmp_path)
    socket = ("--socket", "gateway.sock")
    async with _serving("--config", "tollhouse.yaml", cwd=tmp_path):
        outcomes = [
            await asyncio.to_thread(_run, *arguments, *socket, cwd=tmp_path)
            for arguments in (
                ("call", "time_now", "{}"),
                ("call", "time_now", '{"zone": "Mars/Olympus"}'),
                ("call", "nothing"),
                ("explain", "time_now"),
                ("call", "time_now", "{", "--json"),
            )
        ]
    assert [done.returncode for done in outcomes] == [0, 1, 1, 0, 1]
    assert json.loads(outcomes[4].stdout)["error"]["reason"] == "arguments_malformed"
    told = _run("audit", "tail", "state/audit", "--json", cwd=tmp_path)
    lines = [json.loads(text) for text in told.stdout.splitlines()]
    assert [(line["kind"], line["outcome"]) for line in lines] == [
        ("call", "ok"),
        ("call", "validation_failed"),
        ("call", "not_found"),
        ("explain", "ok"),
        ("call", "validation_failed"),
    ]
    assert _run("audit", "verify", "state/audit", cwd=tmp_path).returncode == 0
    (file,) = (tmp_path / "state" / "audit").glob("*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"not_found"', b'"not_fount"'))
    verdict = _run("audit", "verify", "state/audit", cwd=tmp_path)
    assert verdict.returncode == 1
    assert f"{file.name}:4:" in verdict.stdout


async def test_plain_serve_lets_nobody_in_and_says_so(tmp_path: Path) -> None:
    """No settings: it starts, its one agent sees nothing, and the screen says what to do."""
    async with _serving(cwd=tmp_path):
        listed = await asyncio.to_thread(_run, "tools", "--json", cwd=tmp_path)
        called = await asyncio.to_thread(_run, "call", "time_now", "--json", cwd=tmp_path)
    assert json.loads(listed.stdout) == {"tools": []}
    assert (called.returncode, json.loads(called.stdout)["error"]["code"]) == (1, "not_found")
    screen = (tmp_path / "screen.txt").read_text()
    assert "Nobody can call anything yet" in screen
    assert "tollhouse init" in screen


async def test_a_second_gateway_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """Exit code 2; the first goes on."""
    async with _serving(cwd=tmp_path) as first:
        second = await asyncio.to_thread(_run, "serve", cwd=tmp_path)
        assert first.returncode is None
    assert second.returncode == 2
    assert "another gateway" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_serve_ends_well_when_it_is_asked_to(number: signal.Signals, tmp_path: Path) -> None:
    """Exit code 0, and the socket is gone."""
    async with _serving(cwd=tmp_path) as process:
        assert (tmp_path / ".tollhouse" / "gateway.sock").exists()
        process.send_signal(number)
        await process.wait()
    assert not (tmp_path / ".tollhouse" / "gateway.sock").exists()


async def test_following_the_audit_shows_new_lines_until_it_is_interrupted(tmp_path: Path) -> None:
    """A line is shown once it is written; Ctrl-C ends it without a word."""
    _run("init", ".", cwd=tmp_path)
    async with _serving("--config", "tollhouse.yaml", cwd=tmp_path):
        call = ("call", "time_now", "--socket", "gateway.sock")
        await asyncio.to_thread(_run, *call, cwd=tmp_path)
        following = await asyncio.create_subprocess_exec(
            *COMMAND,
            "audit",
            "tail",
            "state/audit",
            "--follow",
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert following.stdout is not None
        old = await following.stdout.readline()
        await asyncio.to_thread(_run, *call, cwd=tmp_path)
        new = await asyncio.wait_for(following.stdout.readline(), 10)
        following.send_signal(signal.SIGINT)
        _, errors = await following.communicate()
    assert b"time_now" in old
    assert b"time_now" in new
    assert old != new
    assert (following.returncode, errors) == (130, b"")


@pytest.mark.parametrize("arguments", [("test",), ("eval", "--input", "call.json")])
async def test_a_policy_without_an_end_can_be_interrupted(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """The engine holds the interpreter, and Ctrl-C ends the command all the same."""
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "endless.rego").write_text(f"package gateway.authz\n\n{ENDLESS}\n")
    test = "package gateway.authz_test\n\ntest_it if data.gateway.authz.decision\n"
    (tmp_path / "policies" / "endless_test.rego").write_text(test)
    (tmp_path / "call.json").write_text("{}")
    process = await asyncio.create_subprocess_exec(*COMMAND, "policy", *arguments, "policies", cwd=tmp_path)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(process.wait(), 6)
    process.send_signal(signal.SIGINT)
    # Python tells it as 130 where the engine has not begun on a busy machine.
    assert await asyncio.wait_for(process.wait(), 5) in {-signal.SIGINT, 130}


async def test_a_reader_that_leaves_is_no_error_worth_a_traceback(tmp_path: Path) -> None:
    """Output into a pipe that nobody reads."""
    command = " ".join(map(shlex.quote, COMMAND))
    done = await asyncio.create_subprocess_shell(
        f"{command} tools --help | true; {command} version | true", cwd=tmp_path, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await done.communicate()
    assert b"Traceback" not in errors
