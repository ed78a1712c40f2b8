"""A server that is a process of this machine: one message a line, by its stdin and stdout.

Only the deployment's settings name commands. The process has its own user, where the gateway may give it one, an empty
environment, its own session and process group, and no descriptor but its three pipes. What it writes to stderr goes
nowhere: it may hold anything. There is no credential for it: what it has to know, its settings put into its folder.
"""

import asyncio
import os
import signal
import subprocess
from contextlib import suppress

from adapters.base import AdapterError, Clock, Happened
from adapters.mcp_upstream import failures, rpc
from adapters.mcp_upstream.launching import KILLED_SECONDS, Process
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
_MAX_WAITING_BYTES = 64 * 1024


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
            await asyncio.to_thread(self._process.wait, KILLED_SECONDS)

    def _signal(self, number: signal.Signals) -> None:
        """To the whole group, which has the process's id: it was started as its leader."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
