"""Client certificates over real TLS and gRPC: what arrives at the authenticator is what was shown."""

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.authorities import Authority
from fakes.clock import FakeClock
from fakes.principals import FakeProof

from gateway.errors import Unauthenticated
from gateway.identity.mtls import MtlsAuthenticator
from gateway.settings.listeners import MtlsIdentity, Peer

SPIFFE = Peer(san="spiffe://corp.example/{tenant}/{agent}", tenant="{tenant}", agent="{agent}")
DNS = Peer(san="dns:mailer.example", tenant="acme", agent="mailer")
NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


class Asking:
    """A server that answers with who calls, and channels to it."""

    def __init__(self, authority: Authority) -> None:
        self.authority = authority
        self.clock = FakeClock(now=NOW.timestamp())
        self.authenticator = MtlsAuthenticator(MtlsIdentity(kind="mtls", peers=(SPIFFE, DNS)), self.clock)
        self.port = 0

    async def answer(self, _request: bytes, context: Any) -> bytes:
        """Tenant and agent; nobody is an empty answer."""
        shown = context.auth_context().get("x509_pem_cert", [b""])[0]
        try:
            principal = await self.authenticator.authenticate(FakeProof(certificate=shown))
        except Unauthenticated:
            return b""
        return f"{principal.tenant}/{principal.agent}".encode()

    def channel(self, *names: str, **more: Any) -> grpc.aio.Channel:
        """With a certificate of these names."""
        pem, key = self.authority.issue_with_key(*names, **more)
        credentials = grpc.ssl_channel_credentials(self.authority.pem, key, pem)
        return grpc.aio.secure_channel(f"localhost:{self.port}", credentials)


@asynccontextmanager
async def asking() -> AsyncIterator[Asking]:
    """Such a server; clients need a certificate of its authority."""
    one = Asking(Authority())
    pem, key = one.authority.issue_with_key("localhost")
    handler = grpc.method_handlers_generic_handler("t", {"Who": grpc.unary_unary_rpc_method_handler(one.answer)})
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((handler,))
    one.port = server.add_secure_port(
        "localhost:0", grpc.ssl_server_credentials([(key, pem)], one.authority.pem, require_client_auth=True)
    )
    await server.start()
    try:
        yield one
    finally:
        await server.stop(0)


async def who(channel: grpc.aio.Channel) -> str:
    """Whom the server takes us for."""
    answer: bytes = await channel.unary_unary("/t/Who")(b"", timeout=10)
    return answer.decode()


@pytest.mark.parametrize(
    ("names", "taken_for"),
    [
        (("spiffe://corp.example/acme/helper",), "acme/helper"),
        (("spiffe://corp.example/acme/helper", "x.example"), "acme/helper"),
        (("MAILER.example",), "acme/mailer"),
        (("spiffe://corp.example/acme/helper", "spiffe://corp.example/acme/b"), ""),
        (("spiffe://evil.example/acme/helper",), ""),
        (("*.example",), ""),
        ((), ""),
    ],
    ids=str,
)
async def test_a_caller_is_who_its_certificate_says(names: tuple[str, ...], taken_for: str) -> None:
    """By SPIFFE id or DNS name; TLS alone makes nobody anybody."""
    async with asking() as one, one.channel(*names) as channel:
        assert await who(channel) == taken_for


async def test_a_connection_outlives_its_certificate_and_its_caller_does_not() -> None:
    """The handshake was in time, the call is not."""
    async with asking() as one, one.channel("mailer.example", not_before=NOW) as channel:
        assert await who(channel) == "acme/mailer"
        one.clock.advance(3600)
        assert await who(channel) == ""


async def test_another_authority_vouches_for_nobody() -> None:
    """TLS refuses it before anybody is asked."""
    async with asking() as one:
        pem, key = Authority("Other").issue_with_key("mailer.example")
        credentials = grpc.ssl_channel_credentials(one.authority.pem, key, pem)
        async with grpc.aio.secure_channel(f"localhost:{one.port}", credentials) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await who(channel)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
