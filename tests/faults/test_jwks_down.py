"""An issuer whose key set fails in every way: the last good set holds, then nobody is let in, then all is well."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fakes.http import (
    DocumentServer,
    Handler,
    bomb,
    breaking_off,
    chunked,
    document_server,
    dripping,
    hanging,
    redirecting,
    resetting,
    serving,
)
from fakes.principals import bearer, is_let_in, until_let_in
from fakes.tokens import AUDIENCE, ISSUER, Issuer

from gateway.clients.http import HttpClient
from gateway.clock import SystemClock
from gateway.identity.jwt import JwtAuthenticator
from gateway.identity.keys_url import FETCH_SECONDS, UrlKeys
from gateway.settings.listeners import JwtIdentity

REFRESH_SECONDS = 0.1

BROKEN: dict[str, Handler] = {
    "hanging": hanging,
    "dripping": dripping,
    "resetting": resetting,
    "breaking off": breaking_off,
    "garbage": serving(b"<html>Be right back</html>"),
    "empty": serving(b""),
    "no keys": serving(b'{"keys":[]}'),
    "status 500": serving(b"oops", status=500),
    "redirecting": redirecting("http://127.0.0.1:9/elsewhere"),
    "oversized": chunked(2 * 1024 * 1024),
    "exploding": bomb(),
}


@asynccontextmanager
async def authenticating(
    url: str, *, max_stale_seconds: float = 60.0, fetch_seconds: float = FETCH_SECONDS
) -> AsyncIterator[JwtAuthenticator]:
    """Tokens by the keys at that URL."""
    settings = JwtIdentity(
        kind="jwt",
        issuer=ISSUER,
        audience=AUDIENCE,
        jwks_url=url,
        jwks_refresh_seconds=REFRESH_SECONDS,
        jwks_max_stale_seconds=max_stale_seconds,
    )
    keys = UrlKeys(settings, HttpClient(timeout_seconds=fetch_seconds), SystemClock())
    authenticator = JwtAuthenticator(settings, keys, SystemClock())
    await authenticator.start()
    try:
        yield authenticator
    finally:
        await authenticator.stop()


@pytest.mark.parametrize("fault", BROKEN)
async def test_the_last_good_set_holds_while_the_issuer_fails(fault: str) -> None:
    """For a remembered token and a new one; then a new key is known soon after the issuer's return."""
    old, new = Issuer("old"), Issuer("new")
    async with document_server() as server:
        server.answer = serving(old.document())
        async with authenticating(server.url) as authenticator:
            remembered = bearer(old.token(now=time.time()))
            assert await is_let_in(authenticator, remembered)
            server.answer = BROKEN[fault]
            await asked(server, 2 if fault not in ("hanging", "dripping") else 1)
            assert await is_let_in(authenticator, remembered)
            assert await is_let_in(authenticator, bearer(old.token(now=time.time(), sub="another")))
            assert authenticator.status().is_ready
            server.answer = serving(new.document())
            await until_let_in(authenticator, remembered, let_in=False, seconds=2)
            assert await is_let_in(authenticator, bearer(new.token(now=time.time())))


async def asked(server: DocumentServer, times: int) -> None:
    """Return once the server has been asked so many times more."""
    for _ in range(times):
        server.is_asked.clear()
        await asyncio.wait_for(server.is_asked.wait(), 3)


@pytest.mark.parametrize("fault", ["hanging", "garbage"])
async def test_a_set_that_is_too_old_lets_nobody_in_until_the_issuer_is_back(fault: str) -> None:
    """Within two seconds of its return everybody is in again, though earlier requests still hang."""
    issuer = Issuer()
    proof = bearer(issuer.token(now=time.time()))
    async with document_server() as server:
        server.answer = serving(issuer.document())
        async with authenticating(server.url, max_stale_seconds=0.3) as authenticator:
            assert await is_let_in(authenticator, proof)
            server.answer = BROKEN[fault]
            await until_let_in(authenticator, proof, let_in=False, seconds=1)
            assert not authenticator.status().is_ready
            await asked(server, 1)
            server.answer = serving(issuer.document())
            await until_let_in(authenticator, proof, let_in=True, seconds=2)


async def test_an_issuer_that_comes_up_later_is_found_within_two_seconds() -> None:
    """Nobody is there at start; the gateway starts, and lets nobody in until there is."""
    issuer = Issuer()
    proof = bearer(issuer.token(now=time.time()))
    async with document_server() as server:
        url = server.url
    async with authenticating(url) as authenticator:
        assert not await is_let_in(authenticator, proof)
        assert authenticator.status().problem == "the server cannot be reached"
        async with document_server(port=int(url.split(":")[2].split("/")[0])) as server:
            server.answer = serving(issuer.document())
            await until_let_in(authenticator, proof, let_in=True, seconds=2)


async def test_strangers_wait_for_a_hanging_issuer_and_nobody_else_does() -> None:
    """A hundred random keys are one request to the issuer; a caller with a known key passes meanwhile."""
    issuer = Issuer()
    async with document_server() as server:
        server.answer = serving(issuer.document())
        async with authenticating(server.url, fetch_seconds=1.5) as authenticator:
            server.answer = hanging
            strangers = [
                asyncio.create_task(is_let_in(authenticator, bearer(Issuer(f"x{n}").token(now=time.time()))))
                for n in range(100)
            ]
            await asked(server, 1)
            before = len(server.seen)
            async with asyncio.timeout(0.7):
                assert await is_let_in(authenticator, bearer(issuer.token(now=time.time())))
            assert await asyncio.gather(*strangers) == [False] * 100
            assert len(server.seen) - before <= 3
