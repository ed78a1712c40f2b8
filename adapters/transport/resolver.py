"""Names become addresses once per connection, and only checked addresses reach the connector."""

import asyncio
import socket
from typing import Protocol

from aiohttp.abc import AbstractResolver, ResolveResult

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.guard import Guard, refused


class Resolver(Protocol):
    """Looks a name up."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Every address of the host, as text. Raises OSError when there is none or it cannot be told."""
        ...


class SystemResolver:
    """The machine's own resolver."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Every address that `getaddrinfo` knows."""
        loop = asyncio.get_running_loop()
        infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return [_numeric(info[4]) for info in infos]


class CheckedResolver(AbstractResolver):
    """What the connector asks. It hands on the addresses that the guard allows and no others.

    Addresses written in a URL never come here: the connector's socket factory checks those, and these
    once more.
    """

    def __init__(self, resolver: Resolver, guard: Guard) -> None:
        self._resolver = resolver
        self._guard = guard

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - the connector passes it by name
    ) -> list[ResolveResult]:
        """The allowed addresses. Raises `AdapterError`: unavailable without an answer, address_refused if none is."""
        try:
            addresses = await self._resolver.resolve(host, port)
        except OSError as error:
            raise _unknown_host() from error
        except UnicodeError as error:  # a label that the codec of getaddrinfo does not take
            raise _unknown_host() from error
        if not addresses:
            raise _unknown_host()
        allowed = [address for address in addresses if self._guard.allows(address, port)]
        if not allowed:
            raise refused()
        return [_result(host, address, port) for address in allowed]

    async def close(self) -> None:
        """Nothing is held."""


def _numeric(address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> str:
    """The address, with its zone if it has one, so that the guard sees and refuses it."""
    if len(address) == 4 and address[3]:
        return f"{address[0].partition('%')[0]}%{address[3]}"
    return str(address[0])


def _result(host: str, address: str, port: int) -> ResolveResult:
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )


def _unknown_host() -> AdapterError:
    return AdapterError(
        ErrorKind.UNAVAILABLE,
        "The host's name cannot be resolved; check its spelling or try again later.",
        happened=Happened.NO,
        fault=Fault.ERROR,
    )
