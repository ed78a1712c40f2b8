"""Connections to services."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import grpc
import pytest
from fakes.certificates import LOOPBACK, TlsAuthority
from fakes.clock import FakeClock
from fakes.grpc_service.server import GrpcServer, grpc_server, saying
from fakes.resolver import FakeResolver

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.grpc_upstream.channels import MAX_ANSWER_BYTES, Channel, Channels
from adapters.grpc_upstream.connection import Connection, read_connection
from adapters.grpc_upstream.statuses import status_error
from adapters.grpc_upstream.trust import Trust
from adapters.transport.guard import Guard

METHOD = "p.S/M"


class Office:
    """Channels, with what they are made of."""

    def __init__(self, port: int, answers: Sequence[list[str]] = ([],), roots: bytes = b"") -> None:
        self.clock, self.port = FakeClock(), port
        self.guard = Guard.of([f"127.0.0.{last}:{port}" for last in (1, 2)] + [f"[::1]:{port}"])
        self.resolver = FakeResolver({"crm.test": list(answers), "localhost": [["127.0.0.1"]]})
        self.channels = Channels(self.clock, self.guard, self.resolver, Trust(roots), connect_seconds=2.0)

    def connection(self, host: str = "127.0.0.1", **options: Any) -> Connection:
        """To the port, in clear."""
        told = {"address": f"{host}:{self.port}", "tls": False, **options}
        return read_connection(Target(name="t", hosts=(host,), options=told), self.guard)

    async def ask(self, connection: Connection, account: str = "acme/t", request: bytes = b"") -> tuple[Channel, bytes]:
        """The channel that was used, and the answer."""
        async with self.channels.lease(account, connection) as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.raw.unary_unary(f"/{METHOD}")
            return channel, await call(request)

    async def refused(self, connection: Connection) -> AdapterError:
        """The error that leasing ends in."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(connection)
        return caught.value


@asynccontextmanager
async def office(port: int, *answers: list[str], roots: bytes = b"") -> AsyncIterator[Office]:
    """Closed when the block ends."""
    one = Office(port, answers, roots)
    try:
        yield one
    finally:
        await one.channels.close()


@pytest.fixture
async def server() -> AsyncIterator[GrpcServer]:
    """It says hello."""
    async with grpc_server({METHOD: saying(b"hello")}) as one:
        yield one


async def test_a_channel_is_kept_for_an_account(server: GrpcServer) -> None:
    """And is its own."""
    async with office(server.port) as one:
        first, answer = await one.ask(one.connection())
        again, _ = await one.ask(one.connection())
        other, _ = await one.ask(one.connection(), "acme/other")
        elsewhere, _ = await one.ask(one.connection(authority="crm.test"))
    assert answer == b"hello"
    assert first is again
    assert len({first, other, elsewhere}) == 3


async def test_the_authority_is_what_the_connection_says() -> None:
    """It goes over the wire as it is written, and is not looked up."""
    seen, went = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")  # HTTP/2: empty settings
        read = b""
        while data := await reader.read(4096):
            read += data
            if f"/{METHOD}".encode() in read and not seen.done():
                seen.set_result(read)
        await _ended(writer)
        went.set()

    listening = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with listening, office(listening.sockets[0].getsockname()[1], ["127.0.0.1"]) as one:
        asking = asyncio.create_task(one.ask(one.connection("crm.test", authority="crm.internal")))
        read = await asyncio.wait_for(seen, 5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await one.channels.close()
        assert one.resolver.asked == [("crm.test", one.port)]
        await asyncio.wait_for(went.wait(), 5)
    assert b"crm.internal" in read
    assert b"crm.test" not in read


async def _ended(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_an_address_that_is_not_allowed_is_never_connected_to(server: GrpcServer) -> None:
    """Written out, or behind a name; the sentence names no URL, for the agent has given none."""
    async with office(server.port, ["127.0.0.3"], ["169.254.169.254"]) as one:
        for _ in range(2):
            error = await one.refused(one.connection("crm.test"))
            assert (error.kind, error.happened) == (ErrorKind.ADDRESS_REFUSED, Happened.NO)
            assert "URL" not in error.message
        error = await one.refused(one.connection("127.0.0.3"))
        assert error.kind is ErrorKind.ADDRESS_REFUSED
    assert server.asked == []


async def test_of_several_addresses_the_allowed_are_used(server: GrpcServer) -> None:
    """The one that does not answer is passed over."""
    async with office(server.port, ["127.0.0.3", "127.0.0.2", "127.0.0.1"]) as one:
        assert (await one.ask(one.connection("crm.test")))[1] == b"hello"


async def test_the_other_family_is_tried_when_the_first_takes_no_connection(server: GrpcServer) -> None:
    """Nobody listens on the IPv6 loopback."""
    async with office(server.port, ["::1", "127.0.0.1"]) as one:
        assert (await one.ask(one.connection("crm.test")))[1] == b"hello"


async def test_in_clear_only_private_targets_are_spoken_to() -> None:
    """A name that leads to a public address is refused when it is known to."""
    async with office(50051, ["93.184.216.34"]) as one:
        error = await one.refused(one.connection("crm.test"))
    assert (error.kind, error.happened) == (ErrorKind.ADDRESS_REFUSED, Happened.NO)
    assert "TLS" in error.message


async def test_a_name_is_looked_up_again_and_a_change_is_followed(server: GrpcServer) -> None:
    """The same addresses keep the channel; others open a new one, and the old one is closed when nobody uses it."""
    async with office(server.port, ["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]) as one:
        connection = one.connection("crm.test")
        first, _ = await one.ask(connection)
        one.clock.advance(29.0)
        await one.ask(connection)
        assert len(one.resolver.asked) == 1
        one.clock.advance(2.0)
        assert (await one.ask(connection))[0] is first
        assert len(one.resolver.asked) == 2
        async with one.channels.lease("acme/t", connection) as held:
            assert held is first
            one.clock.advance(31.0)
            with pytest.raises(AdapterError, match="connected"):  # nobody listens there
                await one.ask(connection)
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = held.raw.unary_unary(f"/{METHOD}")
            assert await call(b"") == b"hello"
        with pytest.raises(grpc.aio.UsageError):
            await call(b"")
        assert (await one.ask(connection))[0] is not first


async def test_a_name_that_leads_nowhere_is_unavailable() -> None:
    """In words that fit."""
    async with office(50051) as one:
        error = await one.refused(one.connection("nowhere.test"))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert "name" in error.message


async def test_a_service_that_went_away_is_connected_to_anew() -> None:
    """Its channel is given up, and the name looked up again."""
    async with grpc_server({METHOD: saying(b"1")}) as server, office(server.port, ["127.0.0.1"]) as one:
        connection = one.connection("crm.test")
        first, _ = await one.ask(connection)
        await server.server.stop(None)
        while first.is_connected:
            await first.raw.wait_for_state_change(grpc.ChannelConnectivity.READY)
        error = await one.refused(connection)
        assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
        async with grpc_server({METHOD: saying(b"2")}, port=server.port):
            second, answer = await one.ask(connection)
    assert answer == b"2"
    assert second is not first
    assert len(one.resolver.asked) == 3


async def test_one_connects_and_the_others_wait(server: GrpcServer) -> None:
    """All get the same channel."""
    async with office(server.port) as one:
        found = await asyncio.gather(*(one.ask(one.connection()) for _ in range(20)))
    assert len({channel for channel, _ in found}) == 1


async def test_whoever_stops_waiting_lets_the_connection_go() -> None:
    """The library does so when the time for connecting is over."""
    came, went = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.set()
        while await reader.read(1024):
            pass
        await _ended(writer)
        went.set()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with listening, office(listening.sockets[0].getsockname()[1]) as one:
        waiting = asyncio.create_task(one.ask(one.connection()))
        await asyncio.wait_for(came.wait(), 5)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(went.wait(), 5)


async def test_proxies_of_the_environment_are_not_asked(server: GrpcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would choose the address."""
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("GRPC_ADDRESS_HTTP_PROXY", "127.0.0.1:1")
    monkeypatch.setenv("GRPC_ADDRESS_HTTP_PROXY_ENABLED_ADDRESSES", "127.0.0.0/8")
    async with office(server.port) as one:
        assert (await one.ask(one.connection()))[1] == b"hello"


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_an_answer_has_a_size(compression: grpc.Compression) -> None:
    """What is larger is not read, also when it is small on the wire."""
    large = {METHOD: saying(b"x" * (MAX_ANSWER_BYTES + 1))}
    async with grpc_server(large, compression=compression) as server, office(server.port) as one:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await one.ask(one.connection())
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    error = status_error(caught.value, has_effect=True)
    assert (error.kind, error.happened) == (ErrorKind.TOO_LARGE, Happened.YES)


async def test_a_name_that_leads_nowhere_for_a_while_keeps_what_is_connected(server: GrpcServer) -> None:
    """Nobody says that the service has moved."""
    async with office(server.port, ["127.0.0.1"], []) as one:
        first, _ = await one.ask(one.connection("crm.test"))
        one.clock.advance(31.0)
        assert (await one.ask(one.connection("crm.test")))[0] is first
        assert len(one.resolver.asked) == 2


async def test_after_the_end_nothing_is_opened(server: GrpcServer) -> None:
    """Closing twice is harmless."""
    async with office(server.port) as one:
        await one.ask(one.connection())
        await one.channels.close()
        await one.channels.close()
        assert (await one.refused(one.connection())).kind is ErrorKind.UNAVAILABLE


async def test_channels_that_nobody_uses_are_forgotten(server: GrpcServer) -> None:
    """The least recently used beyond 256, and not those in use."""
    async with office(server.port) as one:
        first, _ = await one.ask(one.connection(), "0")
        async with one.channels.lease("1", one.connection()) as held:
            for index in range(2, 258):
                await one.ask(one.connection(), str(index))
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = held.raw.unary_unary(f"/{METHOD}")
            assert await call(b"") == b"hello"
        assert (await one.ask(one.connection(), "0"))[0] is not first


class SlowResolver(FakeResolver):
    """Answers when it is told to."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        super().__init__(answers)
        self.is_asked, self.may_answer = asyncio.Event(), asyncio.Event()

    async def resolve(self, host: str, port: int) -> list[str]:
        """After that."""
        self.is_asked.set()
        await self.may_answer.wait()
        return await super().resolve(host, port)


async def test_a_channel_that_is_being_opened_is_not_forgotten(server: GrpcServer) -> None:
    """Nobody would close it."""
    async with office(server.port) as one:
        slow = SlowResolver({"crm.test": [["127.0.0.1"]]})
        one.channels = Channels(one.clock, one.guard, slow, Trust())
        opening = asyncio.create_task(one.ask(one.connection("crm.test")))
        await slow.is_asked.wait()
        for index in range(258):
            await one.ask(one.connection(), str(index))
        slow.may_answer.set()
        first, _ = await opening
        assert (await one.ask(one.connection("crm.test")))[0] is first


# -- TLS ------------------------------------------------------------------------------------------


@asynccontextmanager
async def secure(authority: TlsAuthority, *names: Any) -> AsyncIterator[GrpcServer]:
    """A server with a certificate of these names."""
    pair = authority.pair(*names)
    credentials = grpc.ssl_server_credentials([(pair.key, pair.cert)])
    async with grpc_server({METHOD: saying(b"sealed")}, credentials=credentials) as one:
        yield one


async def test_a_service_is_who_its_certificate_says() -> None:
    """The name that was looked up, whatever the address is."""
    authority = TlsAuthority()
    async with secure(authority, "crm.test") as server:
        async with office(server.port, ["127.0.0.1"], roots=authority.pem) as one:
            assert (await one.ask(one.connection("crm.test", tls=True)))[1] == b"sealed"
            error = await one.refused(one.connection("localhost", tls=True))
        assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
        async with office(server.port, ["127.0.0.1"]) as stranger:
            assert (await stranger.refused(stranger.connection("crm.test", tls=True))).kind is ErrorKind.UNAVAILABLE
    assert len(server.asked) == 1


async def test_an_address_is_in_a_certificate_too() -> None:
    """A service without a name has one of its address."""
    authority = TlsAuthority()
    async with (
        secure(authority, *LOOPBACK) as server,
        office(server.port, roots=authority.pem) as one,
    ):
        assert (await one.ask(one.connection(tls=True)))[1] == b"sealed"


async def test_an_authority_is_no_proof_of_who_a_service_is() -> None:
    """Its certificate has to be the host's, whatever it is called by."""
    authority = TlsAuthority()
    for name, is_right in (("crm.test", True), ("crm.internal", False)):
        async with (
            secure(authority, name) as server,
            office(server.port, ["127.0.0.1"], roots=authority.pem) as one,
        ):
            connection = one.connection("crm.test", tls=True, authority="crm.internal")
            if is_right:
                assert (await one.ask(connection))[1] == b"sealed"
            else:
                assert (await one.refused(connection)).kind is ErrorKind.UNAVAILABLE
            assert len(server.asked) == is_right


async def test_a_service_in_clear_is_not_spoken_to_when_it_should_be_encrypted(server: GrpcServer) -> None:
    """There is no falling back."""
    async with office(server.port, roots=TlsAuthority().pem) as one:
        assert (await one.refused(one.connection(tls=True))).happened is Happened.NO
    assert server.asked == []
