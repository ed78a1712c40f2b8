"""Journal and sink over a disk in memory."""

import asyncio
from collections.abc import Callable
from typing import Any

from fakes.clock import FakeClock
from fakes.files import Disk
from gateway.audit.commit import Pace
from gateway.audit.open import Audit, Opening, open_files
from gateway.audit.reading import lines_after

PACE = Pace(delay_seconds=0.001, timeout_seconds=2.0, retry_seconds=0.001)


def opened(disk: Disk, clock: FakeClock | None = None, **changes: Any) -> Audit:
    """The audit of the disk, recovered."""
    usual: dict[str, Any] = {"writer": "w1", "active": lambda: 1, "pace": PACE, "segment_bytes": 64 * 1024}
    opening = Opening(**{**usual, **changes})
    return open_files(disk.directory("journal"), disk.directory("audit"), clock=clock or FakeClock(), opening=opening)


async def until(condition: Callable[[], bool]) -> None:
    """Return once the condition holds; what another thread does cannot be awaited otherwise."""
    while not condition():
        await asyncio.sleep(0.001)


def written(disk: Disk) -> list[dict[str, Any]]:
    """Every line that counts, oldest first."""
    return list(lines_after(disk.directory("audit"), 0))
