"""Events over whole gateways, over two replicas of one PostgreSQL, and over a listener with TLS."""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import trustme
from fakes.adapter import FakeAdapter
from fakes.clock import FakeClock
from fakes.events import (
    SECRET,
    FakeWebhooks,
    Post,
    catalogue_of,
    event_body,
    headers_of,
    post_over,
    subscriber,
    tracker,
)
from fakes.path import registry_rows
from fakes.principals import principal
from fakes.scrapes import Reply, connect
from fakes.served import Served, served
from real.postgres import Postgres
from real.stores import postgres_settings, sqlite_settings

from gateway.errors import Reason, Refusal
from gateway.metrics.events import Received
from gateway.settings.events import EventSettings
from gateway.surfaces.events import EventServer
from gateway.surfaces.sockets import bound_socket
from gateway.v1 import tool_service_pb2 as pb

DOOR = "/v1/events/acme/tracker"
OLDEST = pb.WatchEventsRequest(from_oldest=True)


# Two replicas.


@pytest.fixture
async def replicas(server: Postgres) -> AsyncIterator[tuple[Post, Post]]:
    """Two gateways over one database."""
    settings = await postgres_settings(server, timeout_ms=20_000)
    both = catalogue_of(
        [subscriber("*"), subscriber("*", tenant="rival")],
        [tracker(), tracker(tenant="rival", webhook_secret="env:SHOP")],
    )
    async with post_over(settings, catalogue=both) as one, post_over(settings, catalogue=both) as two:
        yield one, two


async def test_an_event_of_one_replica_reaches_who_watches_at_the_other(replicas: tuple[Post, Post]) -> None:
    """Within a moment, and its cursor is good at both."""
    one, two = replicas
    stream = two.watch()
    await stream.next()
    assert await one.deliver(event_body()) is Received.KEPT
    seen = await stream.next()
    assert seen.event is not None
    assert seen.event.id == "v1"
    await stream.close()
    await two.deliver(event_body("v2"))
    again = one.watch(after=seen.cursor)
    assert await again.ids(1) == ["v2"]
    await again.close()


async def test_a_repetition_at_another_replica_is_one_event(replicas: tuple[Post, Post]) -> None:
    """Also when both get it at the same moment."""
    one, two = replicas
    results = await asyncio.gather(*(post.deliver(event_body()) for post in (one, two) * 10))
    assert sorted(results) == [Received.KEPT, *[Received.REPEATED] * 19]
    stream = one.watch(from_oldest=True)
    await one.keep("last")
    assert await stream.ids(2) == ["v1", "last"]
    await stream.close()


async def test_two_tenants_never_see_each_others(replicas: tuple[Post, Post]) -> None:
    """Though connection, agent and id have the same names; and one's secret opens no door of the other's."""
    one, _ = replicas
    theirs = event_body(data={"of": "rival"})
    assert await one.deliver(event_body(data={"of": "acme"})) is Received.KEPT
    assert await one.deliver(theirs, to="rival/tracker") is Received.FORGED
    assert await one.deliver(theirs, headers_of(theirs, secret="whsec-shop"), to="rival/tracker") is Received.KEPT
    for tenant in ("acme", "rival"):
        stream = one.watch(principal(tenant=tenant), from_oldest=True)
        seen = await stream.next()
        assert seen.event is not None
        assert seen.event.data_json == b'{"of":"%s"}' % tenant.encode()
        one.watching._sign_seconds = 0.0
        assert (await stream.next()).event is None
        await stream.close()


async def test_streams_that_are_cut_lose_nothing_while_many_deliver(replicas: tuple[Post, Post]) -> None:
    """Three replicas' worth of deliveries, each in its own transaction, while a watcher is cut off again and again and
    goes on from its last cursor: every event comes once, in one order, and none is skipped.
    """
    one, two = replicas
    total = 120

    async def deliver(post: Post, first: int) -> None:
        for number in range(first, total, 4):
            assert await post.deliver(event_body(f"v{number}")) is Received.KEPT

    delivering = asyncio.gather(*(deliver((one, two)[first % 2], first) for first in range(4)))
    seen: list[str] = []
    cursor = await one.cursors.write(principal(), 0)
    while len(seen) < total:
        stream = (one, two)[len(seen) % 2].watch(after=cursor)
        for _ in range(7):
            answer = await stream.next()
            cursor = answer.cursor
            seen += [answer.event.id] if answer.event is not None else []
            if len(seen) == total:
                break
        await stream.close()
    await delivering
    assert len(set(seen)) == total
    assert sorted(seen) == sorted(f"v{number}" for number in range(total))


async def test_a_server_that_is_down_is_told_and_nothing_is_lost(server: Postgres) -> None:
    """Who delivers repeats, who watches comes back: there is one event."""
    settings = await postgres_settings(server, timeout_ms=500)
    async with post_over(settings) as post:
        stream = post.watch()
        cursor = (await stream.next()).cursor
        server.freeze()
        try:
            assert await post.deliver(event_body()) is Received.UNAVAILABLE
            with pytest.raises(Refusal) as caught:
                await post.watch(after=cursor).next()
            assert caught.value.reason is Reason.STORE_UNAVAILABLE
        finally:
            server.thaw()
        await stream.close()
        async with asyncio.timeout(20):
            while (result := await post.deliver(event_body())) is Received.UNAVAILABLE:
                await asyncio.sleep(0.1)
        assert result in (Received.KEPT, Received.REPEATED)  # what was not answered may have been done
        again = post.watch(after=cursor)
        assert await again.ids(1) == ["v1"]
        assert (await post.kept.head("acme")).number == 1
        await again.close()


# A listener with TLS.


async def _delivered(port: int, body: bytes, context: ssl.SSLContext | None = None) -> Reply:
    line = await connect(port, context=context)
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers_of(body, at=time.time()).items())
    try:
        return await line.send(
            f"POST {DOOR} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{fields}\r\n".encode() + body
        )
    finally:
        await line.close()


async def test_a_delivery_over_tls(tmp_path: Path) -> None:
    """With the certificate of the settings; in the clear nothing is answered."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    (tmp_path / "cert.pem").write_bytes(b"".join(each.bytes() for each in certificate.cert_chain_pems))
    tls = {"cert_file": tmp_path / "cert.pem", "key_file": tmp_path / "key.pem"}
    settings = EventSettings.model_validate({"address": "127.0.0.1:0", "tls": tls})
    clock = FakeClock(time.time(), sleeps_pass=True)
    async with post_over(await sqlite_settings(tmp_path), settings=settings, clock=clock) as post:
        server = EventServer(settings, post.receiver, post.metrics, clock=post.clock, log=post.log)
        sock = bound_socket(settings.address)
        await server.start(sock)
        port, context = sock.getsockname()[1], ssl.create_default_context()
        authority.configure_trust(context)
        assert (await _delivered(port, event_body(), context)).status == 200
        with contextlib.suppress(ConnectionError), pytest.raises(asyncio.IncompleteReadError):
            await _delivered(port, event_body("v2"))
        await server.stop()
        assert (await post.kept.head("acme")).number == 1


# Whole gateways.


def _rows(*kinds: str) -> dict[str, Any]:
    """The usual rows, with a connection that delivers, whose events of these kinds the agent gets."""
    rows = registry_rows()
    rows["connections"].append(
        {
            "name": "tracker",
            "tenant": "acme",
            "vendor": "fake",
            "hosts": ["api.fake.example"],
            "webhook": {"secret": "env:FAKE_TOKEN"},
        }
    )
    if kinds:
        rows["agents"][0]["events"] = [{"connection": "tracker", "kinds": list(kinds)}]
    return rows


@contextlib.asynccontextmanager
async def _gateway(folder: Path, *kinds: str, **more: Any) -> AsyncIterator[tuple[Served, int]]:
    """A gateway that takes deliveries at this port."""
    adapter = FakeAdapter()
    adapter.webhooks = FakeWebhooks()  # type: ignore[attr-defined]
    events = EventSettings.model_validate({"address": "127.0.0.1:0", **more})
    async with served(folder, adapter=adapter, rows=_rows(*kinds), events=events) as one:
        yield one, int(one.gateway.describe().http_addresses["events"].rpartition(":")[2])


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_TOKEN", SECRET)


async def test_what_a_vendor_delivers_comes_out_at_the_agents_stream(tmp_path: Path) -> None:
    """Once, however often it is delivered; and after a restart the stream goes on from its cursor."""
    async with _gateway(tmp_path, "issue.*") as (one, port):
        stream = one.stub.WatchEvents(pb.WatchEventsRequest(), timeout=20)
        first = await stream.read()
        for body in (event_body(), event_body(), event_body("other", kind="push.made"), event_body("v2")):
            assert (await _delivered(port, body)).status == 200
        seen = [(await stream.read()) for _ in range(2)]
        assert [answer.event.id for answer in seen] == ["v1", "v2"]
        assert list(seen[0].event.labels) == ["untrusted", "private"]
    async with _gateway(tmp_path, "issue.*") as (one, _):
        for cursor, ids in ((first.cursor, ["v1", "v2"]), (seen[0].cursor, ["v2"])):
            again = one.stub.WatchEvents(pb.WatchEventsRequest(after=cursor), timeout=20)
            assert [(await again.read()).event.id for _ in ids] == ids


async def test_an_agent_without_a_subscription_gets_signs_of_life(tmp_path: Path) -> None:
    """And the same stream from the oldest on."""
    async with _gateway(tmp_path) as (one, port):
        assert (await _delivered(port, event_body())).status == 200
        seen = await one.stub.WatchEvents(OLDEST, timeout=20).read()
        assert not seen.HasField("event")


async def test_the_listener_is_no_door_to_anything_else(tmp_path: Path) -> None:
    """Forged and unknown are alike."""
    async with _gateway(tmp_path, "*") as (one, port):
        line = await connect(port)
        raw = f"POST {DOOR} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}"
        assert (await line.send(raw.encode())).status == 401
        await line.close()
        line = await connect(port)
        assert (await line.send(raw.replace("tracker", "none").encode())).status == 401
        await line.close()
        assert one.lines == []


async def test_a_drain_ends_the_streams(tmp_path: Path) -> None:
    """With UNAVAILABLE, so that they are opened again elsewhere; the gateway is not kept from ending."""
    async with _gateway(tmp_path, "*") as (one, _):
        stream = one.stub.WatchEvents(pb.WatchEventsRequest(), timeout=20)
        await stream.read()
        stopping = asyncio.create_task(one.gateway.stop())
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        await asyncio.wait_for(stopping, 10)
