"""Plain connections for what speaks for itself, such as a browser's proxy: to checked addresses and no others."""

import asyncio
import ipaddress
import socket

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.guard import Guard
from adapters.transport.resolver import CheckedResolver, Resolver

_CONNECT_SECONDS = 10.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Dialler:
    """Connects like the transport does: a name is looked up once, and only what the guard allows is tried."""

    def __init__(self, guard: Guard, resolver: Resolver) -> None:
        self._guard = guard
        self._resolver = CheckedResolver(resolver, guard)

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a canonical host that may be connected to, one at least.

        Raises `AdapterError`: address_refused when none may be, unavailable when the name leads nowhere.
        """
        if _is_address(host):
            self._guard.check(host, port)
            return [host]
        return [found["host"] for found in await self._resolver.resolve(host, port)]

    async def connect(self, host: str, port: int) -> Streams:
        """A connection to the first of the addresses that takes one. Raises `AdapterError`."""
        problem: Exception | None = None
        for address in await self.addresses(host, port):
            self._guard.check(address, port)  # where the socket goes to is what is checked
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return await asyncio.open_connection(address, port, flags=socket.AI_NUMERICHOST)
            except OSError as error:  # TimeoutError is one
                problem = error
        message = "The site cannot be connected to; try again later."
        raise AdapterError(ErrorKind.UNAVAILABLE, message, happened=Happened.NO, fault=Fault.REFUSED) from problem


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
