"""The adapters of this gateway: a list that somebody wrote. Installing a package adds nothing to it."""

import random
import ssl
from collections.abc import Sequence

from adapters.base import Adapter, Clock
from adapters.clock.adapter import ClockAdapter
from adapters.email.adapter import EmailAdapter
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.guard import Guard
from adapters.transport.resolver import Resolver, SystemResolver
from adapters.web.adapter import WebAdapter


def build_adapters(
    clock: Clock,
    *,
    private_targets: Sequence[str] = (),
    resolver: Resolver | None = None,
    tls: ssl.SSLContext | None = None,
) -> dict[str, Adapter]:
    """Every adapter by name. `private_targets` are exact `ADDRESS:PORT` beyond the public internet.

    `resolver` and `tls` default to the machine's own. Raises ValueError on a target in another form.
    """
    transport = Transport(
        clock=clock,
        random=random.random,
        guard=Guard.of(private_targets),
        resolver=resolver or SystemResolver(),
        breaker=Breaker(clock),
        tls=tls,
    )
    adapters: list[Adapter] = [WebAdapter(clock, transport), EmailAdapter(clock), ClockAdapter(clock)]
    return {adapter.name: adapter for adapter in adapters}
