"""Starts a command as a process of its own, with a user, a session and a process group of its own, and two pipes."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from adapters.mcp_upstream import failures, rpc

KILLED_SECONDS = 1.0
"""For a process that was killed to be gone."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
_BECOME = """
import ctypes, os, signal, sys
told, gateway, uid, gid, *command = sys.argv[1:]
os.set_inheritable(int(told), False)
try:
    if uid:
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    control = ctypes.CDLL(None).prctl
    if control(38, 1, 0, 0, 0) == control(1, 9, 0, 0, 0) == 0 and os.getppid() == int(gateway):
        for one in signal.valid_signals():
            if signal.getsignal(one) is signal.SIG_IGN:
                signal.signal(one, signal.SIG_DFL)
        os.execv(command[0], command)
finally:
    os.write(int(told), b"!")
"""
"""Becomes the user, can gain no rights by a program's own any more (prctl(2), PR_SET_NO_NEW_PRIVS), is killed when the
gateway is (PR_SET_PDEATHSIG), ignores no signal, whatever the gateway and Python do, and becomes the command; when it
cannot, it tells so.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How a server is started."""

    argv: tuple[str, ...]
    """An absolute path and its arguments."""
    uid: int | None = None
    gid: int | None = None
    folder: str = "/"
    """Where it runs; its HOME too."""
    tenants: tuple[str, ...] = ()
    """Whose connections may use it; every tenant's when empty."""

    @property
    def environment(self) -> Mapping[str, str]:
        """All of it."""
        return {"PATH": _PATH, "HOME": self.folder, "LANG": "C.UTF-8"}


def wrong_user(command: Command) -> str:
    """Why this process may not start the command under its user; empty when it may."""
    own = os.geteuid()
    if own == 0 and (not command.uid or not command.gid):
        return "the gateway runs as root, so the settings have to name a uid and a gid for it, neither of them 0"
    if own != 0 and (command.uid not in (None, own) or command.gid not in (None, os.getegid())):
        return "the gateway does not run as root, so it cannot give it another uid or gid than its own"
    return ""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that runs, and its two pipes."""

    popen: subprocess.Popen[bytes]
    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    reading: asyncio.ReadTransport
    """Where stdout comes from: it stays open while anybody else holds the pipe, unless it is closed here."""


async def start(command: Command) -> Process:
    """The process, started in a thread: not every event loop can give it a user. Raises `AdapterError`."""
    if wrong_user(command):
        raise failures.not_now("The upstream server may not be started under its user; its operator has to look.")
    try:
        return await _connected(await _started(command))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise failures.not_now("The upstream server cannot be started; its operator has to look.") from error


async def _started(command: Command) -> "subprocess.Popen[bytes]":
    starting = asyncio.get_running_loop().create_task(asyncio.to_thread(_popen, command))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_let_go)
        raise


def _let_go(starting: "asyncio.Task[subprocess.Popen[bytes]]") -> None:
    """Nobody is left to use it."""
    if not starting.cancelled() and starting.exception() is None:
        _kill(starting.result())


def _kill(popen: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, signal.SIGKILL)
    for pipe in (popen.stdin, popen.stdout):
        if pipe is not None:
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        popen.wait(KILLED_SECONDS)


def _popen(command: Command) -> "subprocess.Popen[bytes]":
    """Once the command runs. Raises OSError when it cannot.

    Not by Popen's own `user`: that forks where it could vfork, and libraries with threads, gRPC's core among them, hook
    forks; their hooks crash in the child now and then.
    """
    user = (str(command.uid), str(command.gid)) if os.geteuid() == 0 else ("", "")
    reading, telling = os.pipe()
    try:
        popen = _launched(command, (str(telling), str(os.getpid()), *user, *command.argv), telling)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(telling)
    with open(reading, "rb") as told:  # noqa: PTH123 - it is open already
        if told.read(1):
            _kill(popen)
            raise OSError("the command cannot be run")
    return popen


def _launched(command: Command, arguments: tuple[str, ...], telling: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - only the deployment's settings name commands
        (sys.executable, "-I", "-S", "-c", _BECOME, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=dict(command.environment),
        cwd=command.folder,
        pass_fds=(telling,),
        start_new_session=True,
        umask=0o077,
    )


async def _connected(popen: "subprocess.Popen[bytes]") -> Process:
    loop = asyncio.get_running_loop()
    assert popen.stdin is not None
    assert popen.stdout is not None
    stdout = asyncio.StreamReader(limit=rpc.MAX_MESSAGE_BYTES)
    reading = None
    try:
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), popen.stdout)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, popen.stdin)
    except BaseException:
        if reading is not None:
            reading.close()  # before its pipe, whose number would be another file's for the loop
        _kill(popen)
        raise
    return Process(popen, asyncio.StreamWriter(transport, protocol, None, loop), stdout, reading)
