"""The adapters of this gateway: a list that somebody wrote. Installing a package adds nothing to it."""

import random
import ssl
from collections.abc import Sequence

from adapters.base import Adapter, Clock, Pauses, TokenStore
from adapters.calendar.adapter import CalendarAdapter
from adapters.clock.adapter import ClockAdapter
from adapters.email.adapter import EmailAdapter
from adapters.github.adapter import GitHubAdapter
from adapters.http_api.adapter import HttpApiAdapter
from adapters.linear.adapter import LinearAdapter
from adapters.posthog.adapter import PostHogAdapter
from adapters.sentry.adapter import SentryAdapter
from adapters.slack.adapter import SlackAdapter
from adapters.stripe.adapter import StripeAdapter
from adapters.transport.api import ApiParts
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.dialler import Dialler
from adapters.transport.guard import Guard
from adapters.transport.pauses import MemoryPauses
from adapters.transport.resolver import Resolver, SystemResolver
from adapters.transport.tokens import MemoryTokens
from adapters.web.adapter import WebAdapter

_APIS = (
    CalendarAdapter,
    GitHubAdapter,
    HttpApiAdapter,
    LinearAdapter,
    PostHogAdapter,
    SentryAdapter,
    SlackAdapter,
    StripeAdapter,
)


def build_adapters(
    clock: Clock,
    *,
    private_targets: Sequence[str] = (),
    resolver: Resolver | None = None,
    tls: ssl.SSLContext | None = None,
    pauses: Pauses | None = None,
    tokens: TokenStore | None = None,
) -> dict[str, Adapter]:
    """Every adapter by name. `private_targets` are exact `ADDRESS:PORT` beyond the public internet.

    `resolver` and `tls` default to the machine's own, `pauses` and `tokens` to ones in memory. Raises ValueError
    on a target in another form.
    """
    guard, addresses = Guard.of(private_targets), resolver or SystemResolver()

    def transport() -> Transport:
        return Transport(
            clock=clock, random=random.random, guard=guard, resolver=addresses, breaker=Breaker(clock), tls=tls
        )

    shared = pauses or MemoryPauses(clock), tokens or MemoryTokens(clock)
    web = ApiParts(clock=clock, transport=transport(), pauses=shared[0], tokens=shared[1])
    adapters: list[Adapter] = [WebAdapter(web, Dialler(guard, addresses)), EmailAdapter(clock), ClockAdapter(clock)]
    adapters += [api(ApiParts(clock=clock, transport=transport(), pauses=shared[0], tokens=shared[1])) for api in _APIS]
    return {adapter.name: adapter for adapter in adapters}
