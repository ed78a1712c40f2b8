"""Whether calls are answered: what health tells, and why not."""

import asyncio
from collections.abc import Callable, Mapping

from adapters.base import Clock
from gateway.background import end

LOOK_SECONDS = 0.1
"""How often the parts are looked at: each look asks nobody and costs microseconds."""

Check = Callable[[], bool]


class Readiness:
    """Ready when every part is, and never again once the gateway drains."""

    def __init__(
        self, checks: Mapping[str, Check], *, clock: Clock, on_change: Callable[[bool, tuple[str, ...]], None]
    ) -> None:
        """`on_change` hears whether calls are answered now, and which parts are not ready."""
        self._checks = dict(checks)
        self._clock = clock
        self._on_change = on_change
        self._told: tuple[bool, tuple[str, ...]] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_draining = False

    @property
    def is_ready(self) -> bool:
        """Whether calls are answered now."""
        return not self.missing()

    def missing(self) -> tuple[str, ...]:
        """The parts that are not ready. A check that raises stands for one that says no."""
        missing = tuple(name for name, check in self._checks.items() if not _holds(check))
        return ("draining", *missing) if self._is_draining else missing

    def start(self) -> None:
        """Tell how it stands, and whenever that changes."""
        self._look()
        self._watching = asyncio.create_task(self._watch(), name="readiness")

    def drain(self) -> None:
        """Not ready from here on."""
        self._is_draining = True
        self._look()

    async def stop(self) -> None:
        """Watch no longer."""
        watching, self._watching = self._watching, None
        await end(watching)

    async def _watch(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self._look()

    def _look(self) -> None:
        missing = self.missing()
        now = (not missing, missing)
        if now != self._told:
            self._told = now
            self._on_change(*now)


def _holds(check: Check) -> bool:
    try:
        return check()
    except Exception:  # noqa: BLE001 - what cannot say that it is ready is not
        return False
