"""A server of one small service, for tests of what is below the services."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from fakes.clock import FakeClock
from gateway.server.listening import Server, Serving
from gateway.settings.listeners import FixedIdentity, Listener, NoIdentity
from gateway.settings.parts import ServerSettings

SERVICE = "test.Echo"
METHOD = f"/{SERVICE}/Say"


@dataclass
class Echo:
    """Says what it hears, and with a gate only once that is open."""

    gate: asyncio.Event | None = None
    error: BaseException | None = None
    started: list[bytes] = field(default_factory=list)
    cancelled: list[bytes] = field(default_factory=list)

    def handler(self) -> grpc.ServiceRpcHandler:
        """The service."""
        methods: dict[str, Any] = {"Say": grpc.unary_unary_rpc_method_handler(self._say)}
        handler: grpc.ServiceRpcHandler = grpc.method_handlers_generic_handler(SERVICE, methods)
        return handler

    async def _say(self, request: bytes, context: Any) -> bytes:
        self.started.append(request)
        try:
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(request)
            raise
        if request == b"abort":
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "no")
        return request


def tcp_listener(name: str = "tcp", address: str = "127.0.0.1:0", **changes: Any) -> Listener:
    """A loopback listener for whoever comes."""
    identity = NoIdentity(kind="none", tenant="acme", agent="helper")
    return Listener(**{"name": name, "address": address, "identity": identity, **changes})


def socket_listener(folder: Path, **changes: Any) -> Listener:
    """A listener on a socket in the folder."""
    identity = FixedIdentity(kind="fixed", tenant="acme", agent="helper")
    return Listener(**{"name": "agent", "address": f"unix:{folder / 'g.sock'}", "identity": identity, **changes})


def server_of(
    *listeners: Listener,
    echo: Echo | None = None,
    on_event: Callable[[str, Mapping[str, str]], None] | None = None,
    clock: Any = None,
    on_late: Callable[[], None] = lambda: None,
    max_in_flight: int = 1000,
    **settings: Any,
) -> Server:
    """A server of the echo on each of them; one for probes has health alone."""
    echo = echo or Echo()
    servings = [
        Serving(listener=listener, handlers=() if listener.is_for_probes else (echo.handler(),))
        for listener in listeners
    ]
    return Server(
        servings,
        ServerSettings(**settings),
        monotonic=(clock or FakeClock()).monotonic,
        max_in_flight=max_in_flight,
        on_event=on_event or (lambda _name, _fields: None),
        on_late=on_late,
    )


async def said(address: str, what: bytes = b"hi", credentials: grpc.ChannelCredentials | None = None) -> bytes:
    """What the server at this address answers."""
    async with channel(address, credentials) as opened:
        answer: bytes = await opened.unary_unary(METHOD)(what, timeout=10)
        return answer


def channel(address: str, credentials: grpc.ChannelCredentials | None = None, *options: Any) -> grpc.aio.Channel:
    """A connection of its own."""
    own = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0), *options)
    if credentials is None:
        return grpc.aio.insecure_channel(address, options=own)
    return grpc.aio.secure_channel(address, credentials, options=own)
