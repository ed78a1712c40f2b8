"""The browser's proxy against real connections: nothing is reached that was not checked."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fakes.web import ARTICLE, BOMB_BYTES, INNER_FORMS, FakeWeb, inner_resolver, open_inner, open_raw, open_web

from adapters.base import ErrorKind
from adapters.transport.dialler import Dialler
from adapters.transport.guard import Guard
from adapters.web.proxy import USER, Limits, PinningProxy, pinning_proxy

PASSWORD = "pr0xy-s3cret"


@asynccontextmanager
async def opened(
    *targets: str, hosts: tuple[str, ...] = (), limits: Limits | None = None
) -> AsyncIterator[PinningProxy]:
    """A proxy that may reach these targets of its inner network."""
    dialler = Dialler(Guard.of(targets), inner_resolver())
    async with pinning_proxy(dialler, hosts, PASSWORD, limits) as proxy:
        yield proxy


def proof(password: str = PASSWORD, user: str = USER) -> str:
    """The header of somebody who knows these."""
    return f"Proxy-Authorization: Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}\r\n"


async def said(proxy: PinningProxy, text: str, *more: bytes) -> bytes:
    """Everything that the proxy says to these bytes until it hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        for each in (text.encode("latin-1"), *more):
            writer.write(each)
            await writer.drain()
        async with asyncio.timeout(10):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def get(url: str, headers: str = "") -> str:
    """A request for an absolute URL, with the proof."""
    return f"GET {url} HTTP/1.1\r\nHost: ignored\r\n{proof()}{headers}\r\n"


def connect(authority: str) -> str:
    """For a tunnel, with the proof."""
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{proof()}\r\n"


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    """A running server."""
    async with open_web() as fake:
        yield fake


async def test_a_page_comes_through(web: FakeWeb) -> None:
    """By a name that leads to a permitted address; the site sees its own name and no proof."""
    async with opened(web.target) as proxy:
        answer = await said(proxy, get(f"http://site.test:{web.port}/article?q=1"))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"Connection: close" in head
    assert body.decode() == ARTICLE
    (seen,) = web.seen
    assert (seen.path, seen.host) == ("/article?q=1", f"site.test:{web.port}")
    assert "Proxy-Authorization" not in seen.headers


async def test_a_tunnel_comes_through(web: FakeWeb) -> None:
    """Both ways, as it is."""
    async with opened(web.target) as proxy:
        inside = b"GET /json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        answer = await said(proxy, connect(f"site.test:{web.port}"), inside)
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert answer.endswith(b'{"answer": 42}')
    assert proxy.received > 0 < proxy.sent


@pytest.mark.parametrize("form", INNER_FORMS)
async def test_g16_no_spelling_of_an_inner_address_is_connected_to(form: str) -> None:
    """Not by a request, not by a tunnel, with the proof and without: 0 bytes reach the inner listener."""
    async with open_inner() as inner, opened() as proxy:
        host = f"{form}:{inner.port}".encode().decode("latin-1")
        answers = [
            await said(proxy, get(f"http://{host}/")),
            await said(proxy, connect(host)),
            await said(proxy, f"CONNECT {host} HTTP/1.1\r\n\r\n"),
            await said(proxy, f"GET http://{host}/ HTTP/1.1\r\n\r\n"),
            await said(proxy, f"GET / HTTP/1.1\r\nHost: {host}\r\n{proof()}\r\n"),
        ]
    statuses = [answer.split(b" ")[1] for answer in answers]
    assert set(statuses[:2]) <= {b"403", b"400"}
    assert set(statuses[2:4]) <= {b"407", b"400"}
    assert statuses[4] == b"400"
    assert (inner.connections, inner.received) == (0, 0)
    assert all(error.kind is ErrorKind.ADDRESS_REFUSED for error in proxy.problems.values())


async def test_g16_a_rebound_name_does_not_lead_inside() -> None:
    """Each connection goes to what was checked for it: the second answer is refused."""
    async with open_inner() as inner, opened(f"127.0.0.2:{inner.port}") as proxy:
        first = await said(proxy, connect(f"rebound.test:{inner.port}"))
        second = await said(proxy, connect(f"rebound.test:{inner.port}"))
    assert (first.split(b" ")[1], second.split(b" ")[1]) == (b"502", b"403")
    assert inner.connections == 0


async def test_g16_a_redirect_is_not_followed_here_and_its_target_is_checked(web: FakeWeb) -> None:
    """The browser asks again, and is refused then."""
    async with open_inner() as inner, opened(web.target) as proxy:
        there = f"http://127.0.0.1:{inner.port}/"
        answer = await said(proxy, get(f"{web.base}/redirect?to={there}"))
        assert f"Location: {there}".encode() in answer
        assert b" 403 " in (await said(proxy, get(there))).partition(b"\r\n")[0]
    assert inner.connections == 0


async def test_the_hosts_of_a_connection_hold(web: FakeWeb) -> None:
    """For whatever a page loads."""
    async with opened(web.target, hosts=("example.com",)) as proxy:
        assert b" 403 " in (await said(proxy, get(f"{web.base}/json"))).partition(b"\r\n")[0]
        assert b" 403 " in (await said(proxy, connect(web.target))).partition(b"\r\n")[0]
    assert web.seen == []
    async with opened(web.target, hosts=(web.target,)) as proxy:
        assert b" 200 " in (await said(proxy, get(f"{web.base}/json"))).partition(b"\r\n")[0]


@pytest.mark.parametrize("header", ["", proof("wrong"), proof(user="root"), proof()[:-4] + "\r\n", proof() * 2])
async def test_nobody_else_gets_out_through_it(web: FakeWeb, header: str) -> None:
    """It says that it wants a password, and does nothing."""
    async with opened(web.target) as proxy:
        for line in (f"GET {web.base}/json", f"CONNECT {web.target}"):
            answer = await said(proxy, f"{line} HTTP/1.1\r\nHost: x\r\n{header}\r\n")
            assert answer.startswith(b"HTTP/1.1 407 ")
            assert b"Proxy-Authenticate: Basic" in answer
            assert PASSWORD.encode() not in answer
    assert web.seen == []
    assert PASSWORD not in repr(proxy)


async def test_one_connection_is_one_request(web: FakeWeb) -> None:
    """What comes after the first is not sent on: it may be for another site."""
    async with opened(web.target) as proxy:
        answer = await said(proxy, get(f"{web.base}/json") + get(f"{web.base}/article"))
    assert answer.count(b"HTTP/1.1 ") == 1
    assert [seen.path for seen in web.seen] == ["/json"]


async def test_a_body_is_sent_on_and_no_more_than_it(web: FakeWeb) -> None:
    """Of the length that was said."""
    async with opened(web.target) as proxy:
        ask = f"POST {web.base}/json HTTP/1.1\r\n{proof()}Content-Length: 4\r\n\r\nbodyGET / HTTP/1.1\r\n\r\n"
        await said(proxy, ask)
    assert [(seen.method, seen.body) for seen in web.seen] == [("POST", b"body")]


@pytest.mark.parametrize(
    "answer", [b"rubbish\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n"]
)
async def test_a_site_that_is_no_proper_http_is_not_passed_on(answer: bytes) -> None:
    """It is the proxy's own answer then, and it is known why."""
    async with open_raw(answer) as port, opened(f"127.0.0.1:{port}") as proxy:
        assert (await said(proxy, get(f"http://127.0.0.1:{port}/"))).startswith(b"HTTP/1.1 502 ")
        assert proxy.problems["127.0.0.1", port].kind is ErrorKind.UNAVAILABLE


async def test_what_only_says_that_an_answer_will_come_is_left_out() -> None:
    """Early hints may lead elsewhere."""
    answer = b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\nHTTP/1.1 204 No\r\n\r\n"
    async with open_raw(answer) as port, opened(f"127.0.0.1:{port}") as proxy:
        assert (await said(proxy, get(f"http://127.0.0.1:{port}/"))).startswith(b"HTTP/1.1 204 ")


@pytest.mark.parametrize(
    "text",
    [
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\x16\x03\x01\r\n\r\n",
        "\r\n\r\n",
        "rubbish\r\n\r\n",
        "GET " + "x" * 70_000 + "\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_told_so(text: str) -> None:
    """And nothing else happens."""
    async with opened() as proxy:
        answer = await said(proxy, text)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert proxy.problems == {}


async def test_a_page_that_is_too_much_ends_everything(web: FakeWeb) -> None:
    """In either direction, on every connection."""
    limits = Limits(received_bytes=100_000, sent_bytes=1500)
    async with opened(web.target, limits=limits) as proxy:
        held = asyncio.create_task(said(proxy, get(f"{web.base}/drip")))
        await asyncio.wait_for(web.is_dripping.wait(), 5)
        await said(proxy, get(f"{web.base}/typed?type=text/plain&hex={'00' * 100}"))
        assert not proxy.is_over
        await said(proxy, f"POST {web.base}/json HTTP/1.1\r\n{proof()}Content-Length: 2000\r\n\r\n", b"x" * 2000)
        assert proxy.is_over
        await held
        assert await said(proxy, get(f"{web.base}/json")) == b""
    await asyncio.wait_for(web.is_broken_off.wait(), 5)


async def test_an_endless_answer_ends_at_the_cap(web: FakeWeb) -> None:
    """Compressed or not, what counts is what comes over the wire."""
    async with opened(web.target, limits=Limits(received_bytes=10_000)) as proxy:
        answer = await said(proxy, get(f"{web.base}/encoded/bomb"))
    assert proxy.is_over
    assert len(answer) <= 10_000 < BOMB_BYTES


async def test_connections_are_counted(web: FakeWeb) -> None:
    """At once and in all."""
    async with opened(web.target, limits=Limits(at_once=1)) as proxy:
        held = asyncio.create_task(said(proxy, get(f"{web.base}/drip")))
        await asyncio.wait_for(web.is_dripping.wait(), 5)
        assert await said(proxy, get(f"{web.base}/json")) == b""
        held.cancel()
    async with opened(web.target, limits=Limits(in_all=1)) as proxy:
        assert b" 407 " in await said(proxy, f"CONNECT {web.target} HTTP/1.1\r\n\r\n")  # of nobody
        assert await said(proxy, get(f"{web.base}/json")) != b""
        assert await said(proxy, get(f"{web.base}/json")) == b""


async def test_the_end_of_the_block_ends_every_connection(web: FakeWeb) -> None:
    """And nobody listens any more."""
    async with opened(web.target) as proxy:
        held = asyncio.create_task(said(proxy, connect(web.target), b"GET /drip HTTP/1.1\r\nHost: x\r\n\r\n"))
        await asyncio.wait_for(web.is_dripping.wait(), 5)
    await held
    await asyncio.wait_for(web.is_broken_off.wait(), 5)
    with pytest.raises(OSError, match="Connect"):
        await asyncio.open_connection("127.0.0.1", proxy.port)
