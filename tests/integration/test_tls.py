"""The gateway over TLS: callers by token and by certificate, and what happens to them when files change."""

import asyncio
import contextlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from fakes.adapter import FakeAdapter
from fakes.audit import until
from fakes.certificates import Pair, TlsAuthority
from fakes.echo import channel
from fakes.served import Served, asked, served
from fakes.tokens import AUDIENCE, ISSUER, Issuer

from gateway.cli.root import run
from gateway.settings.listeners import JwtIdentity, Listener, MtlsIdentity, Peer, TlsSettings
from gateway.settings.parts import ServerSettings
from gateway.v1 import tool_service_pb2_grpc as rpc

AGENT = "spiffe://corp.example/helper"
PEER = Peer(san=AGENT, tenant="acme", agent="helper", principal="helper-1", scopes=("test:read",), roles=("assistant",))


def mtls_listener(tls: TlsSettings, *peers: Peer) -> Listener:
    """A listener whose callers are who their certificate says."""
    identity = MtlsIdentity(kind="mtls", peers=peers or (PEER,))
    return Listener(name="agents", address="127.0.0.1:0", identity=identity, tls=tls)


async def called(one: Served, credentials: grpc.ChannelCredentials, *metadata: tuple[str, str]) -> Any:
    """The answer to a call over a connection of its own, or the status that it ended with."""
    async with channel(one.address(), credentials) as opened:
        try:
            return await rpc.ToolServiceStub(opened).CallTool(asked(), metadata=metadata, timeout=10)
        except grpc.aio.AioRpcError as error:
            return error.code()


async def test_a_certificate_says_who_calls(tmp_path: Path) -> None:
    """The line names tenant, agent and principal of the peer with its SPIFFE id; a token beside it is worth nothing."""
    authority, agents = TlsAuthority(), TlsAuthority()
    tls = authority.files(tmp_path, agents)
    async with served(tmp_path, listeners=(mtls_listener(tls),)) as one:
        response = await called(one, authority.trusted(agents.pair(AGENT)), ("authorization", "Bearer a.b.c"))
        assert response.HasField("result")
        (line,) = one.lines
        assert (line["tenant"], line["agent"], line["principal"]) == ("acme", "helper", "helper-1")
        assert line["proof"] == "mtls"


async def test_a_verified_certificate_of_nobody_is_unauthenticated(tmp_path: Path) -> None:
    """The authority vouches for it, no peer has its name: one sentence, no call, no line."""
    authority, agents = TlsAuthority(), TlsAuthority()
    async with served(tmp_path, listeners=(mtls_listener(authority.files(tmp_path, agents)),)) as one:
        for names in (("spiffe://corp.example/other",), ("agent.example",), ()):
            pair = agents.pair(*names)
            assert await called(one, authority.trusted(pair)) is grpc.StatusCode.UNAUTHENTICATED
        assert one.lines == []


@pytest.mark.parametrize("shown", ["nothing", "another authority's"])
async def test_a_certificate_that_nobody_vouches_for_gets_no_connection(tmp_path: Path, shown: str) -> None:
    """Health is behind the same door."""
    authority, agents = TlsAuthority(), TlsAuthority()
    pair: Pair | None = None if shown == "nothing" else authority.pair(AGENT)
    async with served(tmp_path, listeners=(mtls_listener(authority.files(tmp_path, agents)),)) as one:
        assert await called(one, authority.trusted(pair)) is grpc.StatusCode.UNAVAILABLE
        async with channel(one.address(), authority.trusted(pair)) as opened:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await opened.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=10)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert one.lines == []


async def test_tokens_over_tls_say_who_calls(tmp_path: Path) -> None:
    """No client certificate is asked for; without a token nobody is let in."""
    authority, issuer = TlsAuthority(), Issuer()
    identity = JwtIdentity(
        kind="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file=issuer.publish(tmp_path / "jwks.json")
    )
    tls = authority.files(tmp_path)
    listener = Listener(name="agents", address="127.0.0.1:0", identity=identity, tls=tls)
    async with served(tmp_path, listeners=(listener,)) as one:
        bearer = ("authorization", f"Bearer {issuer.token(now=time.time(), scope='test:read')}")
        assert (await called(one, authority.trusted(), bearer)).HasField("result")
        assert await called(one, authority.trusted()) is grpc.StatusCode.UNAUTHENTICATED
        assert [line["proof"] for line in one.lines] == ["jwt"]


async def test_a_person_calls_over_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tollhouse call` shows a certificate and trusts a private authority; without either it says what to do."""
    authority, agents = TlsAuthority(), TlsAuthority()
    tls, pair = authority.files(tmp_path, agents), agents.pair(AGENT)
    files = {"trusted.pem": authority.pem, "mine.pem": pair.cert, "mine.key": pair.key}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    async with served(tmp_path, listeners=(mtls_listener(tls),)) as one:
        command = ["call", "echo", '{"text":"hi"}', "--address", one.address(), "--ca", str(tmp_path / "trusted.pem")]
        mine = ["--cert", str(tmp_path / "mine.pem"), "--cert-key", str(tmp_path / "mine.key")]
        assert await asyncio.to_thread(run, [*command, *mine]) == 0
        assert "Done." in capsys.readouterr().out
        assert await asyncio.to_thread(run, command) != 0
        assert [line["outcome"] for line in one.lines] == ["ok"]


async def test_the_connection_of_an_authority_that_was_taken_away_ends_with_its_age(tmp_path: Path) -> None:
    """What was opened before lives on until then, and no longer: its next connection is refused."""
    authority, agents = TlsAuthority(), TlsAuthority()
    listeners = (mtls_listener(authority.files(tmp_path, agents)),)
    settings = ServerSettings(max_connection_age_seconds=1.5)
    async with (
        served(tmp_path, listeners=listeners, server=settings) as one,
        channel(one.address(), authority.trusted(agents.pair(AGENT))) as opened,
    ):
        stub = rpc.ToolServiceStub(opened)
        assert (await stub.CallTool(asked(), timeout=10)).HasField("result")
        TlsAuthority().write(tmp_path / "ca.pem")
        assert (await stub.CallTool(asked(), timeout=10)).HasField("result")
        await asyncio.wait_for(opened.wait_for_state_change(grpc.ChannelConnectivity.READY), 5)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.CallTool(asked(), timeout=10)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_g04_calls_in_flight_over_tls_end_well_when_the_gateway_stops(tmp_path: Path) -> None:
    """Each has its answer and its line; who watches health hears NOT_SERVING first, and then the stream ends."""
    authority, agents, adapter = TlsAuthority(), TlsAuthority(), FakeAdapter()
    adapter.gate = asyncio.Event()
    listeners = (mtls_listener(authority.files(tmp_path, agents)),)
    async with (
        served(tmp_path, adapter=adapter, listeners=listeners) as one,
        channel(one.address(), authority.trusted(agents.pair(AGENT))) as opened,
    ):
        watch = opened.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        assert await watch.read() == b"\x08\x01"
        calls = [asyncio.ensure_future(rpc.ToolServiceStub(opened).CallTool(asked(), timeout=20)) for _ in range(20)]
        await asyncio.wait_for(until(lambda: len(adapter.invocations) == 20), 10)
        one.gateway.drain()
        assert await watch.read() == b"\x08\x02"
        stopping = asyncio.create_task(one.gateway.stop())
        assert await watch.read() is grpc.aio.EOF
        adapter.gate.set()
        assert [(await call).WhichOneof("outcome") for call in calls] == ["result"] * 20
        await asyncio.wait_for(stopping, 5)
        assert [line["outcome"] for line in one.lines] == ["ok"] * 20


async def test_strangers_cannot_write_to_the_log(tmp_path: Path) -> None:
    """Handshakes that fail are no lines on standard error, which holds JSON alone; by itself gRPC writes each."""
    tls = TlsAuthority().files(tmp_path, TlsAuthority())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listener = mtls_listener(tls).model_copy(update={"address": f"127.0.0.1:{port}"})
    settings = {"state_dir": "state", "listeners": [listener.model_dump(mode="json")]}
    (tmp_path / "tollhouse.json").write_text(json.dumps(settings))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "gateway", "serve", "--config", str(tmp_path / "tollhouse.json")),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "GRPC_VERBOSITY"},
    )
    try:
        await asyncio.wait_for(_listens(port, process), 30)
        for _ in range(3):
            await asyncio.wait_for(_shake_hands_wrongly(port), 10)
        process.terminate()
        _, said = await asyncio.wait_for(process.communicate(), 10)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0
    assert [json.loads(line)["event"] for line in said.splitlines() if b'"level": "error"' in line] == []
    assert all(isinstance(json.loads(line), dict) for line in said.splitlines())


async def _listens(port: int, process: asyncio.subprocess.Process) -> None:
    """Return once somebody listens there, or the process has ended."""
    while process.returncode is None:
        with contextlib.suppress(ConnectionRefusedError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.02)


async def _shake_hands_wrongly(port: int) -> None:
    """Speak HTTP to a port that wants TLS, and wait for the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1" + bytes(100))
    with contextlib.suppress(ConnectionResetError):
        await reader.read()
    writer.close()
