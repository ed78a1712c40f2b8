"""Tokens by a key set that an issuer publishes over TLS: rotation while callers go on calling."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.authorities import Authority
from fakes.http import DocumentServer, document_server, serving
from fakes.principals import bearer, is_let_in, until_let_in
from fakes.tokens import AUDIENCE, ISSUER, Issuer

from gateway.clients.http import HttpClient
from gateway.clock import SystemClock
from gateway.errors import StartError
from gateway.identity.jwt import JwtAuthenticator
from gateway.identity.keys_url import FETCH_SECONDS, UrlKeys
from gateway.settings.listeners import JwtIdentity
from gateway.watched import LOOK_SECONDS

REFRESH_SECONDS = 0.5


@asynccontextmanager
async def published(
    folder: Path, *issuers: Issuer, authority: Authority | None = None
) -> AsyncIterator[DocumentServer]:
    """Their key set by HTTPS; a private authority vouches for it, whose certificate is in `ca.pem`."""
    authority = authority or Authority()
    authority.write(folder / "ca.pem")
    async with document_server(authority.server_context(folder)) as server:
        server.answer = serving(issuers[0].document(*issuers[1:]), etag='"v1"')
        yield server


@asynccontextmanager
async def authenticating(server: DocumentServer, folder: Path) -> AsyncIterator[JwtAuthenticator]:
    """Tokens by that server's keys."""
    settings = JwtIdentity(
        kind="jwt",
        issuer=ISSUER,
        audience=AUDIENCE,
        jwks_url=server.url,
        jwks_ca_file=folder / "ca.pem",
        jwks_refresh_seconds=REFRESH_SECONDS,
    )
    http = HttpClient(ca_file=settings.jwks_ca_file, timeout_seconds=FETCH_SECONDS)
    authenticator = JwtAuthenticator(settings, UrlKeys(settings, http, SystemClock()), SystemClock())
    await authenticator.start()
    try:
        yield authenticator
    finally:
        await authenticator.stop()


class Load:
    """Callers with good tokens, who must be let in, and strangers with random keys, who must not."""

    def __init__(self, authenticator: JwtAuthenticator) -> None:
        self.authenticator = authenticator
        self.calls = 0
        self._is_over = False

    async def call(self, issuer: Issuer) -> None:
        """Go on calling with fifty tokens of this issuer. Ends with the first that is refused."""
        while not self._is_over:
            self.calls += 1
            await self.authenticator.authenticate(bearer(token_of(issuer, f"run-{self.calls % 50}")))
            await asyncio.sleep(0.002)

    async def pester(self) -> None:
        """Go on making up keys. Ends with the first that is let in."""
        while not self._is_over:
            assert not await is_let_in(self.authenticator, bearer(token_of(Issuer(f"random-{time.monotonic()}"))))
            await asyncio.sleep(0.005)

    def end(self) -> None:
        """Every task ends by itself."""
        self._is_over = True


def token_of(issuer: Issuer, subject: str = "run-7") -> str:
    """A token that is valid now."""
    return issuer.token(now=time.time(), sub=subject)


async def test_keys_rotate_under_load(tmp_path: Path) -> None:
    """A new key passes at once; the old one goes on until it is taken away, and then is out within the refresh.

    All the while callers with a good token are let in, strangers are not, and the issuer is not hammered.
    """
    old, new = Issuer("old"), Issuer("new")
    async with published(tmp_path, old) as server, authenticating(server, tmp_path) as authenticator:
        load, began = Load(authenticator), time.monotonic()
        callers = asyncio.create_task(load.call(old))
        await asyncio.sleep(0.05)
        server.answer = serving(old.document(new), etag='"v2"')
        assert await is_let_in(authenticator, bearer(token_of(new)))
        assert not callers.done()
        callers.cancel()
        tasks = [asyncio.create_task(load.pester()), asyncio.create_task(load.call(new))]
        proof = bearer(token_of(old))
        assert await is_let_in(authenticator, proof)
        server.answer = serving(new.document(), etag='"v3"')
        await until_let_in(authenticator, proof, let_in=False, seconds=REFRESH_SECONDS + 0.2)
        load.end()
        await asyncio.gather(*tasks)
        assert load.calls > 20
        assert len(server.seen) < 4 + (time.monotonic() - began) / (REFRESH_SECONDS / 2)


async def test_a_new_key_passes_while_strangers_pester(tmp_path: Path) -> None:
    """They cannot keep a caller with a good token out for longer than the few seconds between two questions."""
    old, new = Issuer("old"), Issuer("new")
    async with published(tmp_path, old) as server, authenticating(server, tmp_path) as authenticator:
        load = Load(authenticator)
        strangers = asyncio.create_task(load.pester())
        await asyncio.sleep(0.05)
        server.answer = serving(old.document(new), etag='"v2"')
        await until_let_in(authenticator, bearer(token_of(new)), let_in=True, seconds=REFRESH_SECONDS + 0.2)
        load.end()
        await strangers


async def test_an_issuer_that_another_authority_vouches_for_is_nobody(tmp_path: Path) -> None:
    """It starts, and lets nobody in; the status says why. Once the CA file is right, all is well."""
    issuer, authority = Issuer(), Authority()
    proof = bearer(token_of(issuer))
    async with published(tmp_path, issuer, authority=authority) as server:
        Authority("Other").write(tmp_path / "ca.pem")
        async with authenticating(server, tmp_path) as authenticator:
            assert not await is_let_in(authenticator, proof)
            assert "TLS" in authenticator.status().problem
            assert server.seen == []
            authority.write(tmp_path / "ca.pem")
            await until_let_in(authenticator, proof, let_in=True, seconds=LOOK_SECONDS + 2)


async def test_a_ca_file_that_is_not_there_does_not_start(tmp_path: Path) -> None:
    """A sentence names the file."""
    async with published(tmp_path, Issuer()) as server:
        (tmp_path / "ca.pem").unlink()
        with pytest.raises(StartError, match=r"ca\.pem"):
            async with authenticating(server, tmp_path):
                pass


async def test_an_unchanged_set_is_not_sent_again(tmp_path: Path) -> None:
    """The issuer's etag is asked with."""
    issuer = Issuer()
    async with published(tmp_path, issuer) as server, authenticating(server, tmp_path) as authenticator:
        server.is_asked.clear()
        await asyncio.wait_for(server.is_asked.wait(), 5)
        assert server.seen[-1]["If-None-Match"] == '"v1"'
        assert await is_let_in(authenticator, bearer(token_of(issuer)))
