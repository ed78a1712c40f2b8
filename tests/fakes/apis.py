"""An `Api` over a vendor's server on loopback, and calls of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from adapters.base import AdapterError, Clock, Invocation, Pauses, Secret, Target
from adapters.transport.api import Api, ApiParts, Vendor
from adapters.transport.authorisation import Authorises, Bearer
from adapters.transport.calls import Call
from adapters.transport.client import Transport
from adapters.transport.pauses import MemoryPauses
from adapters.transport.replies import Reply
from adapters.transport.tokens import MemoryTokens
from fakes.clock import FakeClock
from fakes.transport import open_transport
from fakes.vendor import CREDENTIAL, VendorServer


@dataclass
class Bench:
    """Where calls are asked."""

    api: Api
    server: VendorServer
    clock: Clock
    transport: Transport
    learned: list[str] = field(default_factory=list)

    async def ask(self, call: Call | None = None, *, limit: str = "", **more: Any) -> Reply:
        """The answer to a call, by default `GET /things`."""
        return await self.api.ask(self.invocation(**more), call or Call(path="/things"), limit=limit)

    async def failure(self, call: Call | None = None, **more: Any) -> AdapterError:
        """What a call ends with."""
        try:
            await self.ask(call, **more)
        except AdapterError as error:
            return error
        raise AssertionError("it went well")

    def invocation(
        self, *, credential: str | None = CREDENTIAL, account: str = "acme/c", seconds: float = 5.0, **options: Any
    ) -> Invocation:
        """Of a connection to the server."""
        host = f"127.0.0.1:{self.server.port}"
        return Invocation(
            arguments={},
            target=Target(name="c", account=account, hosts=(host,), options={"base_url": f"http://{host}", **options}),
            credential=None if credential is None else Secret(credential),
            deadline=self.clock.monotonic() + seconds,
            effect_id="eff-1",
            learn=lambda secret: self.learned.append(secret.reveal()),
        )


@asynccontextmanager
async def bench(
    server: VendorServer, *, authorises: Authorises | None = None, shared: Pauses | None = None, **vendor: Any
) -> AsyncIterator[Bench]:
    """Over a server, with a clock whose sleeps pass. `vendor` is what is particular to it."""
    clock = FakeClock(sleeps_pass=True)
    async with open_transport(f"127.0.0.1:{server.port}", clock=clock) as transport:
        own = Vendor(base_url="https://api.vendor.example", authorises=authorises or Bearer(), **vendor)
        yield Bench(Api(own, transport, clock, shared or MemoryPauses(clock)), server, clock, transport)


class Renewing:
    """Authorisation that has another header for each time that it is asked for one."""

    def __init__(self, *, renewals: int = 10) -> None:
        self.renewals = renewals
        self.count = 0

    async def headers(self, _invocation: Invocation) -> Mapping[str, str]:
        """The one of the moment."""
        return {"Authorization": f"Bearer token-{self.count}"}

    async def renewed(self, invocation: Invocation, refused: Mapping[str, str]) -> Mapping[str, str] | None:
        """The next."""
        assert refused == await self.headers(invocation)
        if self.count >= self.renewals:
            return None
        self.count += 1
        return await self.headers(invocation)


def parts(transport: Any, clock: FakeClock | None = None) -> ApiParts:
    """What an adapter is handed."""
    clock = clock or FakeClock()
    return ApiParts(clock=clock, transport=transport, pauses=MemoryPauses(clock), tokens=MemoryTokens(clock))
