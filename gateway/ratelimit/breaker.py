"""A breaker: after one failure nobody asks a server but one probe, until that is answered."""

import asyncio
from collections.abc import Awaitable, Callable

from adapters.base import Clock, Fault
from gateway.background import end
from gateway.ratelimit.base import LimiterDown

PROBE_SECONDS = 0.25
"""Between two probes: a server that is back is used again within this time."""


class Breaker:
    """Closed while all is well. Opened, it probes in the background and closes by itself.

    `probe` raises `LimiterDown` while the server is down. No caller ever waits for it.
    """

    def __init__(self, probe: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._probe = probe
        self._clock = clock
        self._probing: asyncio.Task[None] | None = None
        self.why: LimiterDown | None = None
        """Why it is open; None while it is closed."""

    def open(self, why: LimiterDown) -> None:
        """Ask the server nothing more until a probe is answered. A later reason does not replace the first."""
        if self.why is None:
            self.why = why
            self._probing = asyncio.get_running_loop().create_task(self._until_it_is_back())

    async def stop(self) -> None:
        """Probe no more. It stays as it is."""
        probing, self._probing = self._probing, None
        await end(probing)

    async def _until_it_is_back(self) -> None:
        while self.why is not None:
            await self._clock.sleep(PROBE_SECONDS)
            try:
                await self._probe()
            except LimiterDown as error:
                self.why = error
            except Exception as error:  # noqa: BLE001 - whoever probes must go on probing
                self.why = LimiterDown(f"the server could not be asked ({type(error).__name__})", Fault.ERROR)
            else:
                self.why = None
