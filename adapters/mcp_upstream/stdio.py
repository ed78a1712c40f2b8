"""A server that is a process of this machine: one message a line, by its stdin and stdout.

Only the deployment's settings name commands. The process has its own user, where the gateway may give it one, an empty
environment, its own session and process group, and no descriptor but its three pipes. What it writes to stderr goes
nowhere: it may hold anything. There is no credential for it: what it has to know, its settings put into its folder.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from adapters.base import AdapterError, Clock, Happened
from adapters.mcp_upstream import failures, rpc
from adapters.mcp_upstream.rpc import Answer, NotRpc
from adapters.mcp_upstream.wire import Asking, Hears

TERM_SECONDS = 2.0
"""Between being asked to end and being killed."""
MAX_NOISE = 100
"""So many lines that are no message are passed over, as some servers print such; with more it is ended."""
MAX_UNASKED_BYTES = 64 * 1024 * 1024
"""So much is read between two answers; what writes more is ended."""
LEAST_BYTES = 512
"""A line counts as so many at least: it takes its time however short it is."""
LAST_SECONDS = 1.0
"""For reading what a process wrote that has ended."""
_KILLED_SECONDS = 1.0
_MAX_WAITING_BYTES = 64 * 1024
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
        popen.wait(_KILLED_SECONDS)


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


class StdioWire:
    """One process. It carries until the process ends or is ended."""

    is_request_scoped = False

    def __init__(self, process: Process, clock: Clock, hears: Hears) -> None:
        self._process = process.popen
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._pipe = process.reading
        self._clock = clock
        self._hears = hears
        self._protocol = ""
        self._waiting: dict[int, asyncio.Future[Answer | None]] = {}
        """By id. None is what all get when the process is gone."""
        self._noise = 0
        self._unasked = 0
        self._is_flooding = False
        self._turn = asyncio.Lock()
        self.is_open = True
        self._reading = asyncio.get_running_loop().create_task(self._read())
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    def begin(self) -> None:
        """See `Wire`."""
        self._protocol = ""

    def agreed(self, protocol: str, *, is_modern: bool) -> None:  # noqa: ARG002 - the envelope says it
        """See `Wire`."""
        self._protocol = protocol

    async def ask(self, asking: Asking) -> Answer:
        """See `Wire`."""
        waiting = self._waiting[asking.id] = asyncio.get_running_loop().create_future()
        happened = Happened.NO
        remaining = asking.deadline - self._clock.monotonic()
        try:
            async with asyncio.timeout(remaining):
                async with self._turn:
                    await asyncio.sleep(0)  # a deadline that is over is heard of here
                    await self._drained()  # until here nothing of this was sent
                    self._check_open()
                    asking.check()
                    happened = failures.after_sending(asking.has_effect)
                    await self._send(asking.body)
                answer: Answer | None = await waiting
        except TimeoutError as error:
            raise failures.too_late(happened) from error
        finally:
            self._waiting.pop(asking.id, None)
        if answer is None:
            raise self._gone(has_effect=asking.has_effect)
        return answer

    async def told(self, body: bytes, deadline: float) -> None:
        """See `Wire`."""
        try:
            async with asyncio.timeout(deadline - self._clock.monotonic()), self._turn:
                await self._drained()
                self._check_open()
                await self._send(body)
        except TimeoutError as error:
            raise failures.too_late(Happened.NO) from error

    def tell(self, body: bytes) -> None:
        """See `Wire`. It is lost when the server does not even read."""
        if self.is_open and self._stdin.transport.get_write_buffer_size() < _MAX_WAITING_BYTES:
            self._stdin.write(body + b"\n")

    async def close(self) -> None:
        """See `Wire`. The whole group is asked to end, and killed soon after."""
        self.is_open = False
        if self._process.returncode is None:
            self._stdin.close()
            self._signal(signal.SIGTERM)
            await asyncio.wait((self._reading,), timeout=TERM_SECONDS)  # it ends with the process, and kills the rest
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def _send(self, body: bytes) -> None:
        self._stdin.write(body + b"\n")
        await self._drained()

    async def _drained(self) -> None:
        """Return when the server has read most of what it was sent. Who waits for an answer is told when it is gone."""
        with suppress(ConnectionError, RuntimeError):
            await self._stdin.drain()

    def _check_open(self) -> None:
        if not self.is_open:
            raise failures.broken_off(has_effect=False)

    def _gone(self, *, has_effect: bool) -> AdapterError:
        return (failures.too_large if self._is_flooding else failures.broken_off)(has_effect=has_effect)

    async def _read(self) -> None:
        """Until the process ends, or what it writes cannot be read. Then all who wait are told."""
        try:
            while line := await self._line():
                self._take(line)
                await asyncio.sleep(0)  # lines that are there already would keep everybody else waiting
        finally:
            self.is_open = False
            self._watching.cancel()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_result(None)
            await self._bury()

    async def _watch(self) -> None:
        """The end of the process is the end of its answers, though what it has started may hold its pipe for ever."""
        over = asyncio.Event()
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, or no descriptor to be had: deadlines end what waits
            return
        try:
            asyncio.get_running_loop().add_reader(descriptor, over.set)
            await over.wait()
        finally:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        await asyncio.wait((self._reading,), timeout=LAST_SECONDS)
        self._pipe.close()

    async def _line(self) -> bytes:
        """The next line; empty when there is none to come."""
        try:
            line = await self._stdout.readuntil(b"\n") if self._noise <= MAX_NOISE else b""
        except asyncio.LimitOverrunError:
            self._is_flooding = True
            return b""
        except (asyncio.IncompleteReadError, OSError):
            return b""
        self._unasked += max(len(line), LEAST_BYTES)
        self._is_flooding = self._unasked > MAX_UNASKED_BYTES
        return b"" if self._is_flooding else line

    def _take(self, line: bytes) -> None:
        try:
            messages = rpc.read(line, protocol=self._protocol) if line.strip() else []
        except NotRpc:
            self._noise += 1
            return
        for message in messages:
            if not isinstance(message, Answer):
                self._hears(message)
            elif type(message.id) is int:
                waiting = self._waiting.get(message.id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
                    self._unasked = 0

    async def _bury(self) -> None:
        """What it started does not outlive it. Killed before it is waited for, so that its id is still its own."""
        self._signal(signal.SIGKILL)
        self._stdin.close()
        self._pipe.close()
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, _KILLED_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        """To the whole group, which has the process's id: it was started as its leader."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
