"""The client against a real server: redirects, caps, deadlines, retries, and nothing reaches inside."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator

import pytest
import trustme
from fakes.clock import FakeClock
from fakes.transport import ask, open_transport
from fakes.web import INNER_FORMS, FakeWeb, inner_resolver, open_inner, open_raw, open_web

from adapters.base import AdapterError, Cut, ErrorKind, Fault, Happened
from adapters.transport.client import Transport
from adapters.transport.messages import Request

EFFECTS = ["POST", "PUT", "PATCH", "DELETE"]


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    """A running server."""
    async with open_web() as fake:
        yield fake


@pytest.fixture
async def transport(web: FakeWeb) -> AsyncIterator[Transport]:
    """A transport that may reach that server and nothing else on loopback."""
    async with open_transport(web.target) as opened:
        yield opened


async def _error(transport: Transport, request: Request) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await transport.send(request)
    return caught.value


def _held(transport: Transport) -> int:
    """How many connections are in use."""
    assert transport._session is not None
    assert transport._session.connector is not None
    return len(transport._session.connector._acquired)


async def test_a_page_arrives(web: FakeWeb, transport: Transport) -> None:
    """Status, body, headers and where it came from."""
    response = await transport.send(ask(f"{web.base}/json"))
    assert (response.status, response.body, response.url.path) == (200, b'{"answer": 42}', "/json")
    assert response.headers["content-type"].startswith("application/json")
    assert (response.cut, response.redirects, response.attempts) == (None, (), 1)


async def test_connections_are_kept_and_let_go(web: FakeWeb, transport: Transport) -> None:
    """After an answer nothing is in use."""
    for _ in range(3):
        await transport.send(ask(f"{web.base}/json"))
    assert _held(transport) == 0


async def test_every_status_is_an_answer(web: FakeWeb, transport: Transport) -> None:
    """What a status means is for the adapter to say."""
    assert (await transport.send(ask(f"{web.base}/status/404"))).status == 404


@pytest.mark.parametrize("how", ["gzip", "members", "deflate", "raw-deflate"])
async def test_compressed_bodies_are_read(web: FakeWeb, transport: Transport, how: str) -> None:
    """And only what can be read is advertised."""
    assert (await transport.send(ask(f"{web.base}/encoded/{how}"))).body == b"plain words"
    assert web.seen[0].headers["Accept-Encoding"] == "gzip, deflate"


async def test_a_decompression_bomb_is_cut(web: FakeWeb, transport: Transport) -> None:
    """The cap holds for what comes out, with evidence, and the connection is not kept."""
    response = await transport.send(ask(f"{web.base}/encoded/bomb", max_bytes=10_000))
    assert len(response.body) == 10_000
    assert response.cut is not None
    assert response.cut.read_bytes == 10_000 < response.cut.seen_bytes < 100_000
    assert _held(transport) == 0


@pytest.mark.parametrize("how", ["truncated", "garbage", "unasked", "stacked"])
async def test_bodies_that_cannot_be_read_are_malformed(web: FakeWeb, transport: Transport, how: str) -> None:
    """A half is never passed off as the whole."""
    assert (await _error(transport, ask(f"{web.base}/encoded/{how}"))).kind is ErrorKind.MALFORMED


async def test_an_endless_body_is_cut_at_the_cap(web: FakeWeb, transport: Transport) -> None:
    """Reading stops there and the sender is hung up on."""
    response = await transport.send(ask(f"{web.base}/drip", max_bytes=3))
    assert response.body == b"..."
    assert isinstance(response.cut, Cut)
    await asyncio.wait_for(web.is_broken_off.wait(), 5)


async def test_a_slow_drip_ends_at_the_deadline(web: FakeWeb, transport: Transport) -> None:
    """Bytes that keep coming do not move the deadline; the connection is let go."""
    before = time.monotonic()
    error = await _error(transport, ask(f"{web.base}/drip", deadline=1000.2))
    assert (error.kind, error.fault, error.happened) == (ErrorKind.DEADLINE, Fault.TIMEOUT, Happened.NO)
    assert 0.15 < time.monotonic() - before < 2.0
    assert _held(transport) == 0
    await asyncio.wait_for(web.is_broken_off.wait(), 5)


async def test_a_passed_deadline_sends_nothing(web: FakeWeb, transport: Transport) -> None:
    """Nothing happened, for certain."""
    error = await _error(transport, ask(f"{web.base}/json", method="POST", deadline=1000.0))
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.NO)
    assert web.seen == []


async def test_cancelling_in_the_middle_of_a_body_lets_the_connection_go(web: FakeWeb, transport: Transport) -> None:
    """Cancellation passes as it is and the sender is hung up on."""
    sending = asyncio.create_task(transport.send(ask(f"{web.base}/drip", max_bytes=10**6)))
    await asyncio.wait_for(web.is_dripping.wait(), 5)
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert _held(transport) == 0
    await asyncio.wait_for(web.is_broken_off.wait(), 5)


async def test_redirects_are_followed_and_told(web: FakeWeb, transport: Transport) -> None:
    """Five are taken, in order."""
    response = await transport.send(ask(f"{web.base}/chain/5"))
    assert response.status == 200
    assert [url.removeprefix(web.base).partition("?")[0] for url in response.redirects] == [
        "/chain/4",
        "/chain/3",
        "/chain/2",
        "/chain/1",
        "/article",
    ]


async def test_a_sixth_redirect_is_not_taken(web: FakeWeb, transport: Transport) -> None:
    """A circle ends there too."""
    assert (await _error(transport, ask(f"{web.base}/chain/6"))).kind is ErrorKind.MALFORMED


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_carry_no_credential_and_no_cookie(web: FakeWeb, transport: Transport, status: int) -> None:
    """Nothing secret goes along, and a cookie that the first answer set does not come back."""
    headers = {"Authorization": "Bearer s3cret", "Cookie": "a=s3cret", "X-Api-Key": "s3cret"}
    await transport.send(ask(f"{web.base}/redirect?status={status}&to=/json", headers=headers))
    assert "s3cret" in str(web.seen[0].headers)
    assert "s3cret" not in str(web.seen[1].headers)
    assert "Cookie" not in web.seen[1].headers
    await transport.send(ask(f"{web.base}/json"))
    assert "Cookie" not in web.seen[2].headers


@pytest.mark.parametrize("method", EFFECTS)
async def test_what_has_an_effect_follows_no_redirect(web: FakeWeb, transport: Transport, method: str) -> None:
    """The redirect is the answer, and whether something happened is not known."""
    response = await transport.send(ask(f"{web.base}/redirect?status=307&to=/json", method=method, body=b"{}"))
    assert (response.status, response.happened) == (307, Happened.UNKNOWN)
    assert len(web.seen) == 1


async def test_a_host_outside_the_connection_is_not_redirected_to(web: FakeWeb, transport: Transport) -> None:
    """The hosts of a connection hold for every hop."""
    url = f"{web.base}/redirect?to=http://elsewhere.example/"
    error = await _error(transport, ask(url, hosts=("127.0.0.1",)))
    assert error.kind is ErrorKind.ADDRESS_REFUSED
    assert len(web.seen) == 1


# -- G16 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", INNER_FORMS)
async def test_g16_no_spelling_of_an_inner_address_is_connected_to(form: str) -> None:
    """Not asked for outright, and not by a redirect: no connection reaches the inner listener."""
    async with (
        open_inner() as inner,
        open_web() as web,
        open_transport(web.target, resolver=inner_resolver()) as transport,
    ):
        inside = f"http://{form}:{inner.port}/"
        outright = await _error(transport, ask(inside))
        redirected = await _error(transport, ask(f"{web.base}/redirect?to={inside}"))
        by_chain = await _error(transport, ask(f"{web.base}/chain/3?to={inside}"))
    assert {each.kind for each in (outright, redirected, by_chain)} == {ErrorKind.ADDRESS_REFUSED}
    assert {each.attempts for each in (outright, redirected, by_chain)} == {1}
    assert (inner.connections, inner.received) == (0, 0)


def test_g16_at_least_thirty_forms_are_tried() -> None:
    """The list does not shrink unnoticed."""
    assert len(set(INNER_FORMS)) >= 30


async def test_g16_a_rebound_name_does_not_lead_inside() -> None:
    """Each connection goes to the addresses that were checked for it, and asks once. The first answer is
    allowed (nobody listens there), the second is not.
    """
    resolver = inner_resolver()
    async with open_inner() as inner, open_transport(f"127.0.0.2:{inner.port}", resolver=resolver) as transport:
        url = f"http://rebound.test:{inner.port}/"
        first = await _error(transport, ask(url, method="POST"))
        second = await _error(transport, ask(url, method="POST"))
    assert first.kind is ErrorKind.UNAVAILABLE
    assert second.kind is ErrorKind.ADDRESS_REFUSED
    assert len(resolver.asked) == 2
    assert inner.connections == 0


async def test_g16_one_permitted_port_opens_no_other() -> None:
    """The permitted server answers; a redirect to any other loopback port is refused."""
    async with open_inner() as inner, open_web() as web, open_transport(web.target) as transport:
        assert (await transport.send(ask(f"{web.base}/article"))).status == 200
        error = await _error(transport, ask(f"{web.base}/redirect?to=http://127.0.0.1:{inner.port}/"))
    assert error.kind is ErrorKind.ADDRESS_REFUSED
    assert inner.connections == 0


async def test_g16_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would connect for us to whatever it likes."""
    async with open_inner() as inner, open_web() as web, open_transport(web.target) as transport:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{inner.port}")
        assert (await transport.send(ask(f"{web.base}/json"))).status == 200
    assert inner.connections == 0


async def test_a_permitted_name_keeps_its_host_header(web: FakeWeb) -> None:
    """The address is the checked one, the name stays the asked one."""
    async with open_transport(web.target, resolver=inner_resolver()) as transport:
        await transport.send(ask(f"http://site.test:{web.port}/json"))
    assert web.seen[0].host == f"site.test:{web.port}"


async def test_tls_is_verified_for_the_name_that_was_asked_for() -> None:
    """SNI and certificate are those of the name; from https, http is not redirected to; strangers are refused."""
    authority = trustme.CA()
    server, client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("site.test").configure_cert(server)
    authority.configure_trust(client)
    names: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: names.append(name)
    async with open_web(server) as web:
        async with open_transport(web.target, resolver=inner_resolver(), tls=client) as transport:
            assert (await transport.send(ask(f"https://site.test:{web.port}/json"))).status == 200
            down = await _error(
                transport, ask(f"https://site.test:{web.port}/redirect?to=http://site.test:{web.port}/")
            )
            other = await _error(transport, ask(f"https://127.0.0.1:{web.port}/", method="POST"))
        async with open_transport(web.target, resolver=inner_resolver()) as stranger:
            untrusted = await _error(stranger, ask(f"https://site.test:{web.port}/json", method="POST"))
    assert names[0] == "site.test"
    assert down.kind is ErrorKind.ADDRESS_REFUSED
    for error in (other, untrusted):
        assert (error.kind, error.fault, error.happened) == (ErrorKind.UNAVAILABLE, Fault.REFUSED, Happened.NO)


# -- what happened, and what is repeated ---------------------------------------------------------


@pytest.mark.parametrize("how", ["502", "503", "504", "429", "reset"])
async def test_a_read_is_repeated(web: FakeWeb, transport: Transport, how: str) -> None:
    """Two passing faults are got over, and the attempts are told."""
    web.failures_left = 2
    response = await transport.send(ask(f"{web.base}/flaky?how={how}"))
    assert (response.body, response.attempts, len(web.seen)) == (b"at last", 3, 3)


async def test_a_read_is_given_up_after_three_attempts(web: FakeWeb, transport: Transport) -> None:
    """The last answer stands."""
    response = await transport.send(ask(f"{web.base}/status/503"))
    assert (response.status, response.attempts, len(web.seen)) == (503, 3, 3)


@pytest.mark.parametrize("method", EFFECTS)
@pytest.mark.parametrize("how", ["503", "reset"])
async def test_a_write_is_not_repeated(web: FakeWeb, transport: Transport, method: str, how: str) -> None:
    """Not by us, and not by the library on a connection that was kept; whether it happened is unknown."""
    await transport.send(ask(f"{web.base}/json"))
    web.failures_left = 1
    request = ask(f"{web.base}/flaky?how={how}", method=method, body=b"{}")
    if how == "reset":
        assert (await _error(transport, request)).happened is Happened.UNKNOWN
    else:
        assert (await transport.send(request)).happened is Happened.UNKNOWN
    assert len(web.seen) == 2


async def test_a_write_with_a_native_key_is_repeated(web: FakeWeb, transport: Transport) -> None:
    """The vendor tells the repetitions apart; the answer settles the doubt."""
    web.failures_left = 2
    response = await transport.send(ask(f"{web.base}/flaky?how=reset", method="POST", body=b"{}", has_native_key=True))
    assert (response.attempts, response.happened) == (3, Happened.YES)


async def test_an_unanswered_write_is_unknown(web: FakeWeb, transport: Transport) -> None:
    """It was sent, and the time was up."""
    error = await _error(transport, ask(f"{web.base}/silent", method="POST", body=b"{}", deadline=1000.3))
    assert (error.kind, error.happened) == (ErrorKind.DEADLINE, Happened.UNKNOWN)
    assert web.seen[0].body == b"{}"


async def test_a_write_that_could_not_connect_did_not_happen() -> None:
    """Nobody listens there: certain that nothing was sent."""
    async with open_inner() as gone:
        port = gone.port
    async with open_transport(f"127.0.0.1:{port}") as transport:
        error = await _error(transport, ask(f"http://127.0.0.1:{port}/", method="POST", body=b"{}"))
    assert (error.kind, error.fault, error.happened) == (ErrorKind.UNAVAILABLE, Fault.REFUSED, Happened.NO)


async def test_an_answer_broken_off_means_the_write_happened(web: FakeWeb, transport: Transport) -> None:
    """The vendor said 200; what failed came later."""
    error = await _error(transport, ask(f"{web.base}/short", method="POST", body=b"{}"))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.YES)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"rubbish\r\n\r\n", ErrorKind.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 40_000 + b"\r\n\r\n", ErrorKind.MALFORMED),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", ErrorKind.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", ErrorKind.MALFORMED),
        (b"", ErrorKind.UNAVAILABLE),
    ],
)
async def test_what_is_not_proper_http_is_said_so(answer: bytes, kind: ErrorKind) -> None:
    """Broken heads, heads without end, and silence."""
    async with open_raw(answer) as port, open_transport(f"127.0.0.1:{port}") as transport:
        assert (await _error(transport, ask(f"http://127.0.0.1:{port}/"))).kind is kind


# -- G12 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0", "1.5", "-3", "soon", "", "Wed, 21 Oct 2020 07:28:00 GMT"])
async def test_g12_a_short_or_unreadable_wait_is_got_over(web: FakeWeb, value: str) -> None:
    """No crash; every pause lies within the deadline and there are three attempts."""
    clock = FakeClock(sleeps_pass=True)
    async with open_transport(web.target, clock=clock) as transport:
        response = await transport.send(ask(f"{web.base}/status/429?retry_after={value}".replace(" ", "%20")))
    assert (response.status, response.attempts) == (429, 3)
    assert all(0 <= pause <= 5 for pause in clock.slept)


@pytest.mark.parametrize(
    ("query", "wait"),
    [
        ("retry_after=7", 7.0),
        ("retry_after=1e9", 86_400.0),
        ("retry_after=Wed, 21 Oct 2026 07:28:00 GMT", 86_400.0),
        ("retry_after=Thu, 01 Jan 2026 01:00:00 GMT", 3600.0),
        ("retry_after=3&retry_after=60", 60.0),
    ],
)
async def test_g12_a_wait_beyond_the_deadline_is_told_at_once(web: FakeWeb, query: str, wait: float) -> None:
    """One attempt, no pause, and the error says how long to wait."""
    clock = FakeClock(sleeps_pass=True)
    async with open_transport(web.target, clock=clock) as transport:
        response = await transport.send(ask(f"{web.base}/status/429?{query}".replace(" ", "%20")))
    assert response.error is not None
    assert (response.error.kind, response.error.attempts) == (ErrorKind.RATE_LIMITED, 1)
    assert response.error.retry_after_seconds == wait
    assert clock.slept == []


# -- the breaker, and the end --------------------------------------------------------------------


async def test_an_origin_that_keeps_failing_is_left_alone(web: FakeWeb) -> None:
    """Its circuit opens, and nothing is sent; a 4xx never opens it."""
    async with open_transport(web.target, threshold=2) as transport:
        for _ in range(5):
            await transport.send(ask(f"{web.base}/status/404"))
        for _ in range(2):
            await transport.send(ask(f"{web.base}/status/500"))
        sent = len(web.seen)
        error = await _error(transport, ask(f"{web.base}/json"))
    assert (error.kind, error.happened) == (ErrorKind.CIRCUIT_OPEN, Happened.NO)
    assert len(web.seen) == sent


async def test_closing_twice_is_harmless_and_final(web: FakeWeb) -> None:
    """After that nothing is sent."""
    async with open_transport(web.target) as transport:
        await transport.send(ask(f"{web.base}/json"))
        await transport.close()
        await transport.close()
        error = await _error(transport, ask(f"{web.base}/json", method="POST"))
    assert (error.kind, error.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_errors_hold_no_secret(web: FakeWeb, transport: Transport) -> None:
    """Neither a header nor a body nor a query is in what an error says."""
    request = ask(
        f"{web.base}/reset?key=s3cret", method="POST", body=b"s3cret", headers={"Authorization": "Bearer s3cret"}
    )
    error = await _error(transport, request)
    assert "s3cret" not in f"{error} {error!r} {error.message}"
