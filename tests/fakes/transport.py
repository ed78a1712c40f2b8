"""A real `Transport` for tests: no jitter, a guard with exactly the exceptions that a test names."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adapters.base import Clock
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.guard import Guard
from adapters.transport.messages import Request
from adapters.transport.resolver import Resolver, SystemResolver
from adapters.transport.urls import canonical_url
from fakes.clock import FakeClock


@asynccontextmanager
async def open_transport(
    *targets: str,
    clock: Clock | None = None,
    resolver: Resolver | None = None,
    tls: ssl.SSLContext | None = None,
    threshold: int = 1000,
) -> AsyncIterator[Transport]:
    """A transport whose pauses pass at once unless a clock is given; closed when the block ends."""
    clock = clock or FakeClock(sleeps_pass=True)
    transport = Transport(
        clock=clock,
        random=lambda: 1.0,
        guard=Guard.of(targets),
        resolver=resolver or SystemResolver(),
        breaker=Breaker(clock, threshold=threshold),
        tls=tls,
    )
    try:
        yield transport
    finally:
        await transport.close()


def ask(url: str, *, deadline: float = 1005.0, max_bytes: int = 100_000, **rest: object) -> Request:
    """A request; `deadline` counts on a `FakeClock`, which begins at 1000."""
    return Request(url=canonical_url(url), deadline=deadline, circuit="web", max_bytes=max_bytes, **rest)  # type: ignore[arg-type]
