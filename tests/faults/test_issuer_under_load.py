"""The whole gateway under load while the issuer of its callers' tokens is gone, or hangs."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest
from fakes.authorities import Authority
from fakes.http import DocumentServer, document_server, hanging, serving
from fakes.served import Served, asked, served, socket_listener
from fakes.tokens import AUDIENCE, ISSUER, Issuer
from real.waiting import until

from gateway.settings.limits import LimitSettings, RateSettings
from gateway.settings.listeners import JwtIdentity

REFRESH_SECONDS, STALE_SECONDS = 0.2, 0.8
CALLERS = 12
PAUSE_SECONDS = 0.05
LONGEST_SECONDS = 1.0
BACK_SECONDS = 2.0
ENOUGH = 4 * CALLERS
WIDE = RateSettings(per_minute=6_000_000, burst=1_000_000)


class Publishing:
    """An issuer's key set by HTTPS on one port, which can go away."""

    def __init__(self, folder: Path) -> None:
        self.issuer = Issuer()
        authority = Authority()
        authority.write(folder / "ca.pem")
        self._tls = authority.server_context(folder)
        self._stack = contextlib.AsyncExitStack()
        self._server: DocumentServer
        self.url = ""

    async def start(self) -> None:
        """It answers, at the same URL as before."""
        port = int(self.url.rpartition(":")[2].partition("/")[0]) if self.url else 0
        self._server = await self._stack.enter_async_context(document_server(self._tls, port))
        self.url = self._server.url
        self._server.answer = serving(self.issuer.document())

    async def stop(self) -> None:
        """Nobody is there."""
        await self._stack.aclose()

    async def fail(self, way: str) -> None:
        """It is `gone`, or `hangs`."""
        if way == "gone":
            await self.stop()
        else:
            self._server.answer = hanging

    async def recover(self, way: str) -> None:
        """All is well."""
        if way == "gone":
            await self.start()
        else:
            self._server.answer = serving(self.issuer.document())


class Load:
    """Callers of that issuer, each time with another token, and strangers whose keys nobody knows."""

    def __init__(self, one: Served, issuer: Issuer) -> None:
        self.calls: list[tuple[float, float, bool]] = []
        """When each call of the issuer's began and ended, and whether it was let in."""
        self.strangers = 0
        self._one = one
        self._issuer = issuer
        self._is_over = False

    async def go_on(self) -> None:
        """One caller, until the load is over."""
        while not self._is_over:
            began = time.monotonic()
            is_in = await self._is_let_in(self._issuer)
            self.calls.append((began, time.monotonic(), is_in))
            await asyncio.sleep(PAUSE_SECONDS)

    async def pester(self) -> None:
        """Somebody else, until cancelled: whoever names an unknown key waits for an issuer that hangs."""
        while True:
            assert not await self._is_let_in(Issuer(f"unknown-{self.strangers}"))
            self.strangers += 1
            await asyncio.sleep(PAUSE_SECONDS)

    def end(self) -> None:
        """Everybody ends by himself."""
        self._is_over = True

    def since(self, begun: float) -> list[bool]:
        """Whether calls that began since then were let in."""
        return [is_in for began, _, is_in in self.calls if began > begun]

    async def _is_let_in(self, issuer: Issuer) -> bool:
        token = issuer.token(now=time.time(), scope="test:read", jti=str(len(self.calls)))
        metadata = (("authorization", f"Bearer {token}"),)
        try:
            answer = await self._one.stub.CallTool(asked(), metadata=metadata, timeout=20)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAUTHENTICATED:
                raise
            return False
        assert answer.HasField("result")
        return True


@contextlib.asynccontextmanager
async def loaded(one: Served, issuer: Issuer) -> AsyncIterator[Load]:
    """The load for the length of the block. What fails in one of them fails the test."""
    load = Load(one, issuer)
    callers = [asyncio.ensure_future(load.go_on()) for _ in range(CALLERS)]
    stranger = asyncio.ensure_future(load.pester())
    try:
        yield load
    finally:
        load.end()
        stranger.cancel()
        await asyncio.gather(*callers)
        with contextlib.suppress(asyncio.CancelledError):
            await stranger


def _identity(folder: Path, url: str) -> JwtIdentity:
    return JwtIdentity(
        kind="jwt",
        issuer=ISSUER,
        audience=AUDIENCE,
        jwks_url=url,
        jwks_ca_file=folder / "ca.pem",
        jwks_refresh_seconds=REFRESH_SECONDS,
        jwks_max_stale_seconds=STALE_SECONDS,
    )


@pytest.mark.parametrize("way", ["gone", "hangs"])
async def test_issuer(tmp_path: Path, way: str) -> None:
    """Callers with known keys go on for the time that the settings give; then nobody is let in, until it is back.

    Who is let in has a line, and nobody else.
    """
    published = Publishing(tmp_path)
    await published.start()
    listener = socket_listener(tmp_path, identity=_identity(tmp_path, published.url))
    async with served(tmp_path, listeners=(listener,), limits=LimitSettings(caller=WIDE)) as one:
        async with loaded(one, published.issuer) as load:
            await until(_enough(load, time.monotonic(), is_in=True))
            failed = time.monotonic()
            await published.fail(way)
            await until(_enough(load, failed + STALE_SECONDS, is_in=False))
            recovering = time.monotonic()
            await published.recover(way)
            await until(_enough(load, recovering, is_in=True), BACK_SECONDS)
        goes_on = failed + STALE_SECONDS - REFRESH_SECONDS
        assert {is_in for _, ended, is_in in load.calls if ended < goes_on} == {True}
        late = [call for call in load.calls if call[0] > failed + STALE_SECONDS and call[1] < recovering]
        assert {is_in for *_, is_in in late} == {False}
        assert max(ended - began for began, ended, is_in in load.calls if is_in) < LONGEST_SECONDS
        assert load.strangers > 0
        assert len(one.lines) == one.effects == sum(is_in for *_, is_in in load.calls)
    await published.stop()


def _enough(load: Load, begun: float, *, is_in: bool) -> Callable[[], Awaitable[bool]]:
    """Whether enough calls that began since then went this way."""

    async def holds() -> bool:
        return load.since(begun).count(is_in) > ENOUGH

    return holds
