"""The listener that Prometheus reads: `GET /metrics` for who proves to be a reader, and nothing else for anybody.

The proof is a bearer token, a client certificate, or that a Unix socket could be opened; when the settings name more
than one, all are needed. It is asked for first: whoever has none does not even learn what is there.
"""

import asyncio
import hmac
import socket
from collections.abc import Iterator
from typing import Protocol

from aiohttp import hdrs, web

from adapters.base import Clock
from gateway.metrics.families import Scrape
from gateway.settings.listeners import MetricsSettings
from gateway.surfaces.certificates import OnEvent, unheard
from gateway.surfaces.http import Bounds, HttpListener, Tls, Trouble
from gateway.telemetry import Log
from gateway.watched import FileUnusable, WatchedFile

PATH = "/metrics"
NAME = "metrics"
"""What events call the listener."""
_SCHEME = "bearer "


class Rendering(Protocol):
    """What there is to read (`gateway.metrics.exposition.Exposition`)."""

    def pieces(self, accept: str = "") -> Iterator[bytes]:
        """Everything, in steps that take little time each."""
        ...

    def content_type(self, accept: str = "") -> str:
        """What the pieces are."""
        ...


class Counting(Protocol):
    """Who hears how requests ended (`gateway.metrics.counts.Metrics`)."""

    def scraped(self, result: Scrape) -> None:
        """A request ended so."""
        ...


class MetricsServer:
    """Serves metrics on a socket of their own. `start` it, then `stop` it."""

    def __init__(  # noqa: PLR0913 - its parts, each named at the call
        self,
        settings: MetricsSettings,
        rendering: Rendering,
        counting: Counting,
        *,
        clock: Clock,
        log: Log,
        on_event: OnEvent = unheard,
        bounds: Bounds | None = None,
    ) -> None:
        """`on_event` is told of certificates that were rotated or cannot be used (see `Certificates`)."""
        self._rendering = rendering
        self._counting = counting
        self._log = log
        self._bounds = bounds or Bounds()
        self._token = WatchedFile(settings.token_file, clock.monotonic) if settings.token_file is not None else None
        self._listener = HttpListener(
            self._answer,
            name=NAME,
            tls=Tls(NAME, settings.tls, clock.monotonic, on_event) if settings.tls is not None else None,
            on_trouble=self._trouble,
            bounds=self._bounds,
        )

    async def start(self, sock: socket.socket) -> None:
        """Answer on a bound socket (see `bound_socket`), which is ours from here on. Raises `StartError`."""
        await self._listener.start(sock)

    async def stop(self) -> None:
        """Nobody is answered any more. Harmless when it was not started."""
        await self._listener.stop()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return self._refusal(request) or await self._page(request)
        except Exception as error:  # noqa: BLE001 - a reader gets an answer, and nothing of ours in it
            self._log.failure("metrics_failed", error)
            self._counting.scraped(Scrape.FAILED)
            return _closing(500)

    def _refusal(self, request: web.BaseRequest) -> web.Response | None:
        """Why there is nothing for this request; None when there is."""
        try:
            is_reader = self._is_reader(request)
        except FileUnusable as error:
            self._log.limited("metrics_token_unusable", "error", problem=str(error))
            self._counting.scraped(Scrape.FAILED)
            return _closing(503)
        if not is_reader:
            self._stranger()
            return _closing(401, {hdrs.WWW_AUTHENTICATE: "Bearer"})
        HttpListener.has_proved(request, seconds=self._bounds.idle_seconds)
        if request.path != PATH:
            return self._wrong_request(404)
        if request.method != hdrs.METH_GET:
            return self._wrong_request(405, {hdrs.ALLOW: hdrs.METH_GET})
        return None

    def _is_reader(self, request: web.BaseRequest) -> bool:
        """Whether the token is the one in the file. Raises `FileUnusable`: without a token nobody is let in.

        A client certificate was verified before there was a request, and a Unix socket by who could open it.
        """
        if self._token is None:
            return True
        wanted = self._token.text()
        given = request.headers.getall(hdrs.AUTHORIZATION, [])
        if len(given) != 1 or not given[0].lower().startswith(_SCHEME):
            return False
        token = given[0][len(_SCHEME) :].strip()
        return hmac.compare_digest(token.encode("utf-8", "surrogateescape"), wanted.encode())

    async def _page(self, request: web.BaseRequest) -> web.Response:
        accept = request.headers.get(hdrs.ACCEPT, "")
        pieces = []
        for piece in self._rendering.pieces(accept):
            pieces.append(piece)
            await asyncio.sleep(0)  # calls go first
        self._counting.scraped(Scrape.OK)
        headers = {hdrs.CONTENT_TYPE: self._rendering.content_type(accept)}
        return web.Response(body=b"".join(pieces), headers=headers)

    def _wrong_request(self, status: int, headers: dict[str, str] | None = None) -> web.Response:
        self._counting.scraped(Scrape.WRONG)
        return _closing(status, headers)

    def _stranger(self) -> None:
        self._log.limited("metrics_unauthenticated")
        self._counting.scraped(Scrape.UNAUTHENTICATED)

    def _trouble(self, trouble: Trouble) -> None:
        if trouble is Trouble.STRANGER:
            self._stranger()
            return
        self._log.limited("metrics_connection_failed", why=trouble.value)
        self._counting.scraped(Scrape.WRONG)


def _closing(status: int, headers: dict[str, str] | None = None) -> web.Response:
    response = web.Response(status=status, headers=headers)
    response.force_close()
    return response
