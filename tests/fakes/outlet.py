"""An outlet in memory, and a follower that is quick."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.base import Clock
from fakes.files import Disk
from gateway.audit.lines import LineSink
from gateway.audit.outlets.base import Outlet, OutletDown
from gateway.audit.outlets.following import Follower, OnEvent, Pacing
from gateway.audit.outlets.position import PositionFile
from gateway.audit.reading import Written
from gateway.clock import SystemClock

QUICK = Pacing(timeout_seconds=0.5, retry_seconds=0.005, longest_retry_seconds=0.02, position_seconds=0.0)


class ListOutlet:
    """`Outlet` in memory. While `is_down` it takes nothing; while `gate` is there it answers nobody."""

    name = "list"

    def __init__(self, *, takes_all: bool = False) -> None:
        self.takes_all = takes_all
        self.rejected = 0
        self.lines: list[Written] = []
        self.is_down = False
        self.is_closed = False
        self.gate: asyncio.Event | None = None

    async def deliver(self, lines: Sequence[Written]) -> None:
        """Keep them."""
        if self.gate is not None:
            await self.gate.wait()
        if self.is_down:
            raise OutletDown("the list is down")
        self.lines += lines

    async def close(self) -> None:
        """No more."""
        self.is_closed = True


def ignored(_name: str, _fields: Mapping[str, str]) -> None:
    """An event that nobody hears of."""


def follower_of(
    sink: LineSink,
    disk: Disk,
    outlet: Outlet,
    path: Path,
    *,
    pacing: Pacing = QUICK,
    clock: Clock | None = None,
    on_event: OnEvent = ignored,
) -> Follower:
    """A follower of a sink over a disk in memory; told of every line, and not yet started."""
    follower = Follower(
        outlet,
        disk.directory("audit"),
        head=lambda: sink.head[0],
        position=PositionFile(path),
        clock=clock or SystemClock(),
        pacing=pacing,
        on_event=on_event,
    )
    sink.hand_on(follower.tell)
    return follower
