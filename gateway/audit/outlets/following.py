"""Handing lines on: each outlet is followed up at its own pace, and no call ever waits for one.

A line is durable in the files before anybody hears of it. From there it goes to every outlet by a queue in memory;
when an outlet is out for so long that the queue is full, or the gateway was restarted, it catches up from the files.
"""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adapters.base import Clock
from gateway.audit.files import Readable
from gateway.audit.outlets.base import Outlet, OutletDown
from gateway.audit.outlets.position import PositionFile
from gateway.audit.reading import Written, raw_after
from gateway.background import end

OnEvent = Callable[[str, Mapping[str, str]], None]
"""`sink_down`, with `sink` and `problem`; `sink_up`, with `sink` and how many lines were `late`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """How lines are handed on."""

    timeout_seconds: float = 2.0
    """How long a batch may take before the outlet counts as hung."""
    batch: int = 200
    """Lines at once."""
    queue: int = 10_000
    """Lines that are kept in memory for an outlet that is slow; beyond that they are read again from the files."""
    retry_seconds: float = 0.5
    """How long after a failure it is tried again; doubled each time, up to the longest."""
    longest_retry_seconds: float = 30.0
    position_seconds: float = 1.0
    """How often the position is written down."""
    drain_seconds: float = 2.0
    """How long the end waits for an outlet that is behind."""


class SinkStatus(NamedTuple):
    """How an outlet stands."""

    name: str
    is_up: bool
    behind: int
    """By how many numbers it is behind the last durable line; records that files begin with count as well."""
    missed: int
    """Lines that did not come by memory and had, or have, to be read from the files."""
    rejected: int
    """Lines that it refused for good."""
    problem: str
    """Why it is not up; empty when it is."""


class Follower:
    """Follows the lines of one writer with one outlet."""

    def __init__(  # noqa: PLR0913 - it stands between all of these
        self,
        outlet: Outlet,
        files: Readable,
        *,
        head: Callable[[], int],
        position: PositionFile,
        clock: Clock,
        pacing: Pacing,
        on_event: OnEvent,
    ) -> None:
        """`head` is the number of the last durable line in `files`."""
        self._outlet = outlet
        self._files = files
        self._head = head
        self._kept = position
        self._clock = clock
        self._pacing = pacing
        self._on_event = on_event
        self._queue: deque[Written] = deque()
        self._has_all = False
        """Whether everything after the position is in the queue."""
        self._reader: Iterator[Written] = iter(())
        self._position = 0
        self._next_keep = float("-inf")
        self._missed = 0
        self._late = 0
        self._problem = ""
        self._told = asyncio.Event()
        self._idle = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Go on from where it was; an outlet that takes all and never was begins with the first line there is."""
        kept = self._kept.read()
        head = self._head()
        self._position = min(kept, head) if kept is not None else (0 if self._outlet.takes_all else head)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Hand on what is left, as far as that goes in time, and let go. Calling it twice is harmless."""
        task, self._task = self._task, None
        if task is None:
            return
        if not self._problem:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), self._pacing.drain_seconds)
        await end(task)
        await asyncio.to_thread(self._kept.keep, self._position)
        await self._outlet.close()

    def tell(self, lines: Sequence[Written]) -> None:
        """These have become durable."""
        if self._has_all and len(self._queue) + len(lines) <= self._pacing.queue:
            self._queue.extend(lines)
        else:
            self._missed += len(lines)
            self._queue.clear()
            self._has_all = False
        self._told.set()
        self._idle.clear()

    def status(self) -> SinkStatus:
        """How it stands."""
        behind = max(0, self._head() - self._position)
        rejected = self._outlet.rejected
        return SinkStatus(self._outlet.name, not self._problem, behind, self._missed, rejected, self._problem)

    def _is_done(self) -> bool:
        return self._has_all and not self._queue

    async def _run(self) -> None:
        while True:
            self._told.clear()
            if lines := await self._next():
                await self._deliver(lines)
                self._position = lines[-1].seq
                await self._keep_position()
            elif self._is_done():
                self._idle.set()
                await self._told.wait()

    async def _next(self) -> list[Written]:
        """What comes next; nothing when it has to be looked again."""
        if not self._has_all:
            return await self._from_files()
        lines: list[Written] = []
        while self._queue and len(lines) < self._pacing.batch:
            line = self._queue.popleft()
            if line.seq > self._position:
                lines.append(line)
        return lines

    async def _from_files(self) -> list[Written]:
        until = self._head()
        try:
            lines = await asyncio.to_thread(self._read)
            if not lines:
                self._reader = raw_after(self._files, self._position, until)
                lines = await asyncio.to_thread(self._read)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with a file must not end the follower
            await self._failed(f"the audit files cannot be read ({type(error).__name__})", self._pacing.retry_seconds)
            return []
        # No await since the head was the same: whatever becomes durable from here on is told.
        self._has_all = not lines and self._head() == until
        self._late += len(lines)
        return lines

    def _read(self) -> list[Written]:
        return list(itertools.islice(self._reader, self._pacing.batch))

    async def _deliver(self, lines: Sequence[Written]) -> None:
        """All are there, however often it has to be tried."""
        wait = self._pacing.retry_seconds
        while True:
            try:
                async with asyncio.timeout(self._pacing.timeout_seconds):
                    await self._outlet.deliver(lines)
                break
            except OutletDown as down:
                problem = str(down)
            except TimeoutError:
                problem = "it did not answer in time"
            except Exception as error:  # noqa: BLE001 - an outlet's fault must not end its follower
                problem = f"it failed ({type(error).__name__})"
            await self._failed(problem, wait)
            wait = min(2 * wait, self._pacing.longest_retry_seconds)
        self._mended()

    async def _failed(self, problem: str, wait_seconds: float) -> None:
        if not self._problem:
            self._late = 0
            self._on_event("sink_down", {"sink": self._outlet.name, "problem": problem})
        self._problem = problem
        await self._clock.sleep(wait_seconds)

    def _mended(self) -> None:
        if self._problem:
            self._problem = ""
            self._on_event("sink_up", {"sink": self._outlet.name, "late": str(self._late + len(self._queue))})

    async def _keep_position(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_keep:
            self._next_keep = now + self._pacing.position_seconds
            await asyncio.to_thread(self._kept.keep, self._position)


class Followers:
    """All of them."""

    def __init__(self, followers: Sequence[Follower]) -> None:
        self._followers = tuple(followers)

    def start(self) -> None:
        """Begin to hand on."""
        for follower in self._followers:
            follower.start()

    async def stop(self) -> None:
        """End, all at once. Calling it twice is harmless."""
        await asyncio.gather(*(follower.stop() for follower in self._followers))

    def tell(self, lines: Sequence[Written]) -> None:
        """For `LineSink.hand_on`."""
        for follower in self._followers:
            follower.tell(lines)

    def status(self) -> tuple[SinkStatus, ...]:
        """How each stands."""
        return tuple(follower.status() for follower in self._followers)
