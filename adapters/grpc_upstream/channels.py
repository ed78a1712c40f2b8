"""Connections to services, each account's own: to addresses that were checked, and to no others.

The library is never given a name to look up. A channel that is handed out has just been connected, so a failure before
is one before anything was sent.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened
from adapters.grpc_upstream.connection import Connection, is_private_target
from adapters.grpc_upstream.trust import Trust
from adapters.transport.dialler import Dialler
from adapters.transport.guard import Guard
from adapters.transport.resolver import Resolver

MAX_ANSWER_BYTES = 4 * 1024 * 1024
_RESOLVED_SECONDS = 30.0
_MAX_CHANNELS = 256
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    ("grpc.enable_http_proxy", 0),
    # Of proxies for addresses, which are another matter to the library, the environment would say to which they are.
    ("grpc.address_http_proxy_enabled_addresses", ""),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),  # also of what was compressed
    ("grpc.client_idle_timeout_ms", 300_000),
    ("grpc.primary_user_agent", "tollhouse/0.1"),
)

Key = tuple[str, Connection]


class Channel:
    """A connection, and what is remembered of the service at its other end."""

    def __init__(self, raw: grpc.aio.Channel, resolved: tuple[str, ...], resolved_at: float) -> None:
        self.raw = raw
        self.resolved = resolved
        self.resolved_at = resolved_at
        self.users = 0
        self.is_retired = False
        self.digests: dict[str, tuple[str, float]] = {}
        """By method: the digest of what the service published, and until when it is believed."""
        self.look = asyncio.Lock()

    @property
    def is_connected(self) -> bool:
        """Whether a request would be sent at once."""
        return self.raw.get_state() is grpc.ChannelConnectivity.READY

    async def connect(self) -> bool:
        """Whether it could be connected. The first failure ends it."""
        state = self.raw.get_state(try_to_connect=True)
        while state in (grpc.ChannelConnectivity.IDLE, grpc.ChannelConnectivity.CONNECTING):
            await self.raw.wait_for_state_change(state)
            state = self.raw.get_state(try_to_connect=True)
        return state is grpc.ChannelConnectivity.READY

    async def retire(self) -> None:
        """Close it, when nobody uses it any more."""
        self.is_retired = True
        if not self.users:
            await self.raw.close()


class _Slot:
    """Where the channel of one account and connection is, or is being opened by one at a time."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.channel: Channel | None = None


class Channels:
    """Channels by account and connection: opened when they are needed, kept while they are good."""

    def __init__(
        self, clock: Clock, guard: Guard, resolver: Resolver, trust: Trust, *, connect_seconds: float = 10.0
    ) -> None:
        """`connect_seconds` are for one family of addresses, TLS and HTTP/2's greeting included. The library keeps a
        connection that it gives up for as long.
        """
        self._clock = clock
        self._guard = guard
        self._dialler = Dialler(guard, resolver)
        self._trust = trust
        self._connect_seconds = connect_seconds
        self._slots: OrderedDict[Key, _Slot] = OrderedDict()
        self._is_closed = False

    @asynccontextmanager
    async def lease(self, account: str, connection: Connection) -> AsyncIterator[Channel]:
        """A connected channel. Raises `AdapterError`, all of it before anything was sent."""
        slot = self._slot((account, connection))
        async with slot.lock:
            channel = await self._good(slot, connection)
            channel.users += 1
        try:
            yield channel
        finally:
            channel.users -= 1
            if channel.is_retired:
                await channel.retire()

    async def close(self) -> None:
        """Every channel is closed, and what runs over it ends. Calling it twice is harmless."""
        self._is_closed = True
        slots, self._slots = self._slots, OrderedDict()
        for slot in slots.values():
            if slot.channel is not None:
                await slot.channel.raw.close()

    def _slot(self, key: Key) -> _Slot:
        slot = self._slots.setdefault(key, _Slot())
        self._slots.move_to_end(key)
        return slot

    async def _good(self, slot: _Slot, connection: Connection) -> Channel:
        channel, now = slot.channel, self._clock.monotonic()
        if channel is not None and channel.is_connected and now - channel.resolved_at < _RESOLVED_SECONDS:
            return channel
        try:
            addresses = await self._addresses(connection)
        except AdapterError as error:
            if channel is not None and channel.is_connected and error.kind is ErrorKind.UNAVAILABLE:
                return channel  # nobody says that the service has moved
            raise
        if channel is not None and channel.is_connected and set(channel.resolved) == set(addresses):
            channel.resolved_at = now
            return channel
        if channel is not None:
            slot.channel = None
            await channel.retire()
        slot.channel = await self._opened(connection, addresses)
        await self._forget_one()
        return slot.channel

    async def _forget_one(self) -> None:
        """The least recently used of too many, so that rows that come and go cannot fill the memory."""
        if len(self._slots) <= _MAX_CHANNELS:
            return
        for key, slot in self._slots.items():
            if not slot.lock.locked():  # one that is being opened stays
                del self._slots[key]
                if slot.channel is not None:
                    await slot.channel.retire()
                return

    async def _addresses(self, connection: Connection) -> list[str]:
        try:
            found = await self._dialler.addresses(connection.host, connection.port)
        except AdapterError as error:
            raise _unreachable(error) from error
        if connection.is_encrypted:
            return found
        safe = [one for one in found if is_private_target(one, connection.port, self._guard)]
        if not safe:
            message = "The service is spoken to without TLS, and its address is not one for that; tell an operator."
            raise AdapterError(ErrorKind.ADDRESS_REFUSED, message, happened=Happened.NO)
        return safe

    async def _opened(self, connection: Connection, addresses: list[str]) -> Channel:
        """Connected to the first family of addresses that takes a connection."""
        for target in _targets(addresses, connection.port):
            channel = Channel(await self._raw(target, connection), tuple(addresses), self._clock.monotonic())
            is_open = False
            try:
                async with asyncio.timeout(self._connect_seconds):
                    is_open = await channel.connect() and not self._is_closed
            except TimeoutError:
                pass
            finally:
                if not is_open:
                    await channel.raw.close()
            if is_open:
                return channel
        message = "The service cannot be connected to; try again later."
        raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.REFUSED)

    async def _raw(self, target: str, connection: Connection) -> grpc.aio.Channel:
        # What is called a pause between two attempts is the time that one has.
        attempt = ("grpc.min_reconnect_backoff_ms", int(self._connect_seconds * 1000))
        options = [*_OPTIONS, attempt, ("grpc.default_authority", connection.authority)]
        if not connection.is_encrypted:
            return grpc.aio.insecure_channel(target, options=options)
        try:
            credentials = await self._trust.credentials()
        except OSError as error:
            message = "The authorities that certificates are checked with cannot be read; tell an operator."
            raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.ERROR) from error
        options.append(("grpc.ssl_target_name_override", connection.host))
        return grpc.aio.secure_channel(target, credentials, options=options)


def _targets(addresses: list[str], port: int) -> list[str]:
    """What the library is told: addresses of one family each, that of the first address first."""
    families = dict.fromkeys("ipv6" if ":" in address else "ipv4" for address in addresses)
    return [
        f"{family}:"
        + ",".join(_quoted(address, port) for address in addresses if (":" in address) == (family == "ipv6"))
        for family in families
    ]


def _quoted(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _unreachable(error: AdapterError) -> AdapterError:
    """The guard and the resolver speak of URLs, which an agent has not given here."""
    message = "The service's name cannot be resolved; try again later."
    if error.kind is ErrorKind.ADDRESS_REFUSED:
        message = "The service's address is outside what may be connected to; tell an operator."
    return AdapterError(error.kind, message, happened=Happened.NO, fault=error.fault)
