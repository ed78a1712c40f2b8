"""An answer that is read while it comes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fakes.transport import ask, open_transport
from fakes.web import FakeWeb, open_web

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from adapters.transport.client import Transport
from adapters.transport.streaming import Streamed


@pytest.fixture
async def web() -> AsyncIterator[FakeWeb]:
    """A running server."""
    async with open_web() as fake:
        yield fake


@pytest.fixture
async def transport(web: FakeWeb) -> AsyncIterator[Transport]:
    """A transport that may reach that server and nothing else on loopback."""
    async with open_transport(web.target, threshold=2) as opened:
        yield opened


async def _body(streamed: Streamed) -> bytes:
    return await streamed.body()


async def _error(awaitable: Any) -> AdapterError:
    with pytest.raises(AdapterError) as caught:
        await awaitable
    return caught.value


def _held(transport: Transport) -> int:
    """How many connections are in use."""
    assert transport._session is not None
    assert transport._session.connector is not None
    return len(transport._session.connector._acquired)


async def test_an_answer_is_read_as_it_comes(web: FakeWeb, transport: Transport) -> None:
    """By who asked, who gets its head whatever the status; compression is not asked for."""
    assert await transport.stream(ask(f"{web.base}/json"), _body) == b'{"answer": 42}'
    assert web.seen[0].headers["Accept-Encoding"] == "identity"

    async def status(streamed: Streamed) -> int:
        return streamed.status

    assert await transport.stream(ask(f"{web.base}/status/404"), status) == 404
    assert _held(transport) == 0


async def test_nothing_is_followed_or_repeated(web: FakeWeb, transport: Transport) -> None:
    """Whatever the answer asks for."""

    async def status(streamed: Streamed) -> int:
        return streamed.status

    assert await transport.stream(ask(f"{web.base}/chain/3"), status) == 302
    assert await transport.stream(ask(f"{web.base}/status/503"), status) == 503
    assert len(web.seen) == 2


async def test_whoever_has_read_enough_lets_go(web: FakeWeb, transport: Transport) -> None:
    """Of a body without an end."""

    async def first(streamed: Streamed) -> bytes:
        async for piece in streamed.pieces():
            return piece
        raise AssertionError

    assert await transport.stream(ask(f"{web.base}/drip", max_bytes=10**9), first)
    assert _held(transport) == 0


async def test_more_than_was_asked_for_is_too_large(web: FakeWeb, transport: Transport) -> None:
    """Counted as it comes."""
    error = await _error(transport.stream(ask(f"{web.base}/article", max_bytes=100), _body))
    assert error.kind is ErrorKind.TOO_LARGE
    assert _held(transport) == 0


async def test_a_compressed_answer_is_refused(web: FakeWeb, transport: Transport) -> None:
    """It was not asked for, and could grow."""
    error = await _error(transport.stream(ask(f"{web.base}/encoded/gzip"), _body))
    assert (error.kind, error.fault) == (ErrorKind.MALFORMED, Fault.MALFORMED)


async def test_the_deadline_ends_it(web: FakeWeb, transport: Transport) -> None:
    """Reading included; what was sent before may have had its effect."""
    error = await _error(transport.stream(ask(f"{web.base}/drip", deadline=1000.3, method="POST"), _body))
    assert error.kind is ErrorKind.DEADLINE
    assert error.happened is not Happened.NO
    assert _held(transport) == 0
    late = await _error(transport.stream(ask(f"{web.base}/json", deadline=999.0, method="POST"), _body))
    assert (late.kind, late.happened) == (ErrorKind.DEADLINE, Happened.NO)


async def test_cancellation_passes(web: FakeWeb, transport: Transport) -> None:
    """And lets go of the connection."""
    reading = asyncio.create_task(transport.stream(ask(f"{web.base}/drip"), _body))
    await web.is_dripping.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert _held(transport) == 0


async def test_addresses_and_hosts_are_guarded(web: FakeWeb, transport: Transport) -> None:
    """As of every request."""
    inner = f"http://127.0.0.1:{web.port + 1 if web.port < 65535 else 1024}/"
    assert (await _error(transport.stream(ask(inner), _body))).kind is ErrorKind.ADDRESS_REFUSED
    other = ask(f"{web.base}/json", hosts=("example.com",))
    assert (await _error(transport.stream(other, _body))).kind is ErrorKind.ADDRESS_REFUSED
    assert web.seen == []


async def test_failures_open_the_circuit(web: FakeWeb, transport: Transport) -> None:
    """The status of a fault counts, and an answer that only cannot be used does not."""

    async def status(streamed: Streamed) -> int:
        return streamed.status

    for _ in range(3):
        await _error(transport.stream(ask(f"{web.base}/encoded/gzip"), _body))
    for _ in range(2):
        await transport.stream(ask(f"{web.base}/status/500"), status)
    assert (await _error(transport.stream(ask(f"{web.base}/json"), _body))).kind is ErrorKind.CIRCUIT_OPEN
