"""A process is started under its own user, or not at all, and outlives nobody."""

import asyncio
import contextlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.mcp_wire import NOBODY, command_of, until

from adapters.base import AdapterError, ErrorKind, Happened
from adapters.mcp_upstream import launching
from adapters.mcp_upstream.launching import Command, wrong_user


async def _error(awaitable: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await awaitable
    return caught.value


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("argv", [("/nowhere/at/all",), ("/etc/hostname",)])
async def test_what_cannot_be_started(argv: tuple[str, ...]) -> None:
    """Says so, without saying what it is."""
    error = await _error(launching.start(replace(command_of(), argv=argv)))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert argv[0] not in error.message


def test_nothing_is_started_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor as another one where the gateway cannot become another one."""
    command = Command(argv=(sys.executable,))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "root" in wrong_user(command)
    assert "root" in wrong_user(replace(command, uid=0, gid=0))
    assert "root" in wrong_user(replace(command, uid=7))
    assert wrong_user(replace(command, uid=7, gid=7)) == ""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1000)
    assert "cannot" in wrong_user(replace(command, uid=7, gid=7))
    assert wrong_user(command) == wrong_user(replace(command, uid=1000, gid=1000)) == ""


async def test_root_without_a_user_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when nobody has checked the connection before."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    error = await _error(launching.start(Command(argv=(sys.executable,))))
    assert error.happened is Happened.NO


async def test_one_that_was_started_for_nobody_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever stops in the middle of a start leaves nothing behind."""
    began: list[Any] = []
    start_process = launching._popen

    def popen(command: Command) -> Any:
        began.append(start_process(command))
        return began[0]

    monkeypatch.setattr(launching, "_popen", popen)
    starting = asyncio.create_task(launching.start(replace(command_of(), argv=("/bin/sleep", "60"))))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait((starting,))
    assert starting.cancelled()
    await until(lambda: bool(began) and began[0].returncode is not None)


_STARTS = """
import asyncio, sys
sys.path[:0] = {path!r}
from adapters.mcp_upstream import launching

async def run():
    command = launching.Command(argv=("/bin/sleep", "300"), uid={user!r}, gid={user!r})
    process = await launching.start(command)
    while "sleep" not in open(f"/proc/{{process.popen.pid}}/comm").read():
        await asyncio.sleep(0.01)
    print(process.popen.pid, flush=True)
    await asyncio.sleep(300)

asyncio.run(run())
"""


async def test_a_gateway_that_is_killed_leaves_no_process() -> None:
    """Not even one that does not care that its stdin is closed."""
    user = NOBODY if os.geteuid() == 0 else None
    code = _STARTS.format(path=[str(Path(launching.__file__).parents[2])], user=user)
    gateway = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert gateway.stdout is not None
    pid = int(await gateway.stdout.readline())
    assert _runs(pid)
    gateway.kill()
    await gateway.wait()
    await until(lambda: not _runs(pid))
