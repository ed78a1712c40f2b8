"""The adapters of this gateway: a list that somebody wrote. Installing a package adds nothing to it."""

import random
import secrets
import ssl
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from adapters.base import Adapter, Clock, Pauses, TokenStore
from adapters.calendar.adapter import CalendarAdapter
from adapters.clock.adapter import ClockAdapter
from adapters.email.adapter import EmailAdapter
from adapters.github.adapter import GitHubAdapter
from adapters.grpc_upstream.adapter import GrpcUpstreamAdapter
from adapters.http_api.adapter import HttpApiAdapter
from adapters.linear.adapter import LinearAdapter
from adapters.mcp_upstream.adapter import McpUpstreamAdapter
from adapters.mcp_upstream.launching import Command as StdioCommand
from adapters.mcp_upstream.sessions import UpstreamSessions
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

__all__ = ["StdioCommand", "build_adapters"]

CONNECTIONS = 100
"""At once, of one adapter."""
STREAMS = 1000
"""The same for MCP servers, whose answers may take as long as their calls: some that hang must not keep others out."""
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


def build_adapters(  # noqa: PLR0913 - what adapters are handed
    clock: Clock,
    *,
    private_targets: Sequence[str] = (),
    resolver: Resolver | None = None,
    tls: ssl.SSLContext | None = None,
    pauses: Pauses | None = None,
    tokens: TokenStore | None = None,
    commands: Mapping[str, StdioCommand] = MappingProxyType({}),
    authorities: bytes = b"",
) -> dict[str, Adapter]:
    """Every adapter by name. `private_targets` are exact `ADDRESS:PORT` beyond the public internet, `commands` what may
    be started as an MCP server.

    `authorities`, PEM, may vouch for servers besides the machine's own, where no `tls` is given. `resolver` defaults
    to the machine's own, `pauses` and `tokens` to ones in memory. Raises ValueError on a target in another form, or
    authorities that are none.
    """
    tls = tls or _trusting(authorities)
    guard, addresses = Guard.of(private_targets), resolver or SystemResolver()

    def transport(connections: int = CONNECTIONS) -> Transport:
        return Transport(
            clock=clock,
            random=random.random,
            guard=guard,
            resolver=addresses,
            breaker=Breaker(clock),
            tls=tls,
            max_connections=connections,
        )

    shared = pauses or MemoryPauses(clock), tokens or MemoryTokens(clock)
    web = ApiParts(clock=clock, transport=transport(), pauses=shared[0], tokens=shared[1])
    adapters: list[Adapter] = [WebAdapter(web, Dialler(guard, addresses)), EmailAdapter(clock), ClockAdapter(clock)]
    sessions = UpstreamSessions(
        transport=transport(STREAMS), clock=clock, commands=commands, random_bits=secrets.randbits
    )
    adapters.append(McpUpstreamAdapter(sessions, clock, sessions.target_problems))
    adapters.append(GrpcUpstreamAdapter(clock, guard, addresses, authorities=authorities))
    adapters += [api(ApiParts(clock=clock, transport=transport(), pauses=shared[0], tokens=shared[1])) for api in _APIS]
    return {adapter.name: adapter for adapter in adapters}


def _trusting(authorities: bytes) -> ssl.SSLContext | None:
    """What else may vouch; None when it is the machine's own alone. Raises ValueError."""
    if not authorities:
        return None
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cadata=authorities.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ValueError("the authorities are no certificates in PEM") from error
    return context
