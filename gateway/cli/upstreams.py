"""Asks the upstreams of connections what they can do, with the credentials that the settings let them have."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from adapters.base import Adapter, AdapterError, Clock, Invocation
from adapters.recipes import Offer, Offers
from gateway.clock import SystemClock
from gateway.credentials.resolver import Resolver
from gateway.errors import Refusal
from gateway.rows import Connection
from gateway.secrecy import keepers_of
from gateway.settings.load import Settings

SECONDS = 30.0
"""How long one upstream may take to say what it can do."""
AT_ONCE = 4
_EFFECT = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What the upstream of one connection offers, or one sentence that says why nobody knows."""

    connection: Connection
    offers: tuple[Offer, ...] = field(default=(), repr=False)
    problem: str = ""


async def asked(
    settings: Settings,
    connections: Sequence[Connection],
    adapters: Mapping[str, Adapter],
    *,
    on_asked: Callable[[], None] = lambda: None,
) -> list[Upstream]:
    """Every connection's upstream, in their order; some at once. `on_asked` is told of each. Raises `StartError`."""
    clock, room = SystemClock(), asyncio.Semaphore(AT_ONCE)
    async with _resolving(settings, clock) as resolver:

        async def ask(connection: Connection) -> Upstream:
            async with room:
                found = await _asked(connection, adapters.get(connection.vendor), resolver, clock)
            on_asked()
            return found

        return list(await asyncio.gather(*map(ask, connections)))


@contextlib.asynccontextmanager
async def _resolving(settings: Settings, clock: Clock) -> AsyncIterator[Resolver]:
    """Whoever resolves references as the settings have it."""
    keepers = keepers_of(settings, clock)
    async with contextlib.AsyncExitStack() as stack:
        for part in keepers.startable:
            stack.push_async_callback(part.stop)
            await part.start()
        yield Resolver(keepers.sources, settings.credentials, keepers.lenders)


async def _asked(connection: Connection, adapter: Adapter | None, resolver: Resolver, clock: Clock) -> Upstream:
    if not isinstance(adapter, Offers):
        return Upstream(connection=connection, problem=f"{connection.vendor} says nothing of what it can do")
    try:
        async with asyncio.timeout(SECONDS), _lent(connection, resolver, clock) as invocation:
            return Upstream(connection=connection, offers=tuple(await adapter.offers(invocation)))
    except (AdapterError, Refusal) as error:
        return Upstream(connection=connection, problem=error.message)
    except TimeoutError:
        return Upstream(connection=connection, problem=f"it did not say within {SECONDS:g} seconds what it can do")
    except Exception:  # noqa: BLE001 - one adapter's fault keeps no other upstream from being shown
        return Upstream(connection=connection, problem="asking it failed in a way that it should not")


@contextlib.asynccontextmanager
async def _lent(connection: Connection, resolver: Resolver, clock: Clock) -> AsyncIterator[Invocation]:
    """An invocation that only looks. Raises `Refusal`."""
    target, deadline = connection.target, clock.monotonic() + SECONDS
    if not connection.credential:
        yield Invocation(arguments={}, target=target, credential=None, deadline=deadline, effect_id=_EFFECT)
        return
    lent = await resolver.lend(connection.tenant, connection.credential, target.hosts, seconds=SECONDS)
    try:
        yield Invocation(arguments={}, target=target, credential=lent.secrets[0], deadline=deadline, effect_id=_EFFECT)
    finally:
        lent.end()
        for secret in lent.secrets:
            secret.drop()
