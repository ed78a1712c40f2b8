"""Time as an argument. The protocol is `adapters.base.Clock`; this is the real one."""

import asyncio
import time


class SystemClock:
    """The machine's clocks."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)
