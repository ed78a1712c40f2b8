"""Standard output: a line for each line, as it was written."""

import asyncio
import os
import threading
from collections.abc import Sequence

from gateway.audit.outlets.base import OutletDown
from gateway.audit.reading import Written

STDOUT = 1


class StdoutOutlet:
    """`Outlet` to a file descriptor. A pipe that nobody reads hangs a thread and not the gateway; what hangs there
    goes out when it is read again, once.
    """

    name = "stdout"
    takes_all = False

    def __init__(self, descriptor: int = STDOUT) -> None:
        self.rejected = 0
        self._descriptor = descriptor
        self._writing: asyncio.Future[None] | None = None
        self._last = 0
        """The number of the last line that was handed to a thread."""

    async def deliver(self, lines: Sequence[Written]) -> None:
        """They are in the pipe. Raises `OutletDown`."""
        await self._written()
        new = [line for line in lines if line.seq > self._last]
        if new:
            self._last = new[-1].seq
            self._writing = self._begin(b"".join(line.raw for line in new))
            await self._written()

    async def close(self) -> None:
        """Nothing to let go of: the descriptor is the process's."""

    async def _written(self) -> None:
        """What a thread was given is written. May be cancelled; the thread goes on."""
        writing = self._writing
        if writing is None:
            return
        try:
            await asyncio.shield(writing)
        except OSError as error:
            self._writing, self._last = None, 0
            raise OutletDown(f"standard output cannot be written: {error.strerror}") from error
        self._writing = None

    def _begin(self, data: bytes) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def work() -> None:
            error = self._write(data)
            try:
                loop.call_soon_threadsafe(_finish, done, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

        # A daemon: a pipe that nobody reads must not keep the process from ending.
        threading.Thread(target=work, name="tollhouse-stdout", daemon=True).start()
        return done

    def _write(self, data: bytes) -> OSError | None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            return error
        return None


def _finish(done: "asyncio.Future[None]", error: OSError | None) -> None:
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
        done.exception()  # who waited may be gone
