"""The listener where services read the keys that verify assertions: `GET /.well-known/jwks.json`, and nothing else.

The keys are public: nobody has to prove anything, and nobody is kept for long.
"""

import hashlib
import socket
from collections.abc import Callable

from aiohttp import hdrs, web

from adapters.base import Clock
from gateway.settings.assertions import PublishSettings
from gateway.surfaces.certificates import OnEvent, unheard
from gateway.surfaces.http import Bounds, HttpListener, Tls, Trouble
from gateway.telemetry import Log

PATH = "/.well-known/jwks.json"
NAME = "jwks"
"""What events call the listener."""
MAX_AGE_SECONDS = 60
"""How long a copy may be used unasked. A new key of a Vault signs only when such copies are over."""
_KEEP_SECONDS = 30.0
"""How long a connection may stay after an answer."""


class JwksServer:
    """Serves the keys on a socket of their own. `start` it, then `stop` it."""

    def __init__(
        self,
        settings: PublishSettings,
        document: Callable[[], bytes],
        *,
        clock: Clock,
        log: Log,
        on_event: OnEvent = unheard,
        bounds: Bounds | None = None,
    ) -> None:
        """`document` is what there is to read; the very same object until it changes."""
        self._document = document
        self._log = log
        self._served: tuple[bytes, str] = (b"", "")
        self._listener = HttpListener(
            self._answer,
            tls=Tls(NAME, settings.tls, clock.monotonic, on_event) if settings.tls is not None else None,
            on_trouble=self._trouble,
            bounds=bounds or Bounds(),
            name=NAME,
        )

    async def start(self, sock: socket.socket) -> None:
        """Answer on a bound socket (see `bound_socket`), which is ours from here on. Raises `StartError`."""
        await self._listener.start(sock)

    async def stop(self) -> None:
        """Nobody is answered any more. Harmless when it was not started."""
        await self._listener.stop()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path != PATH:
            return _closing(404)
        if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD):
            return _closing(405, {hdrs.ALLOW: "GET, HEAD"})
        try:
            body, tag = self._now()
        except Exception as error:  # noqa: BLE001 - a reader gets an answer, and nothing of ours in it
            self._log.failure("jwks_failed", error)
            return _closing(500)
        HttpListener.has_proved(request, seconds=_KEEP_SECONDS)
        headers = {hdrs.ETAG: tag, hdrs.CACHE_CONTROL: f"public, max-age={MAX_AGE_SECONDS}"}
        if _has_it(request, tag):
            return web.Response(status=304, headers=headers)
        return web.Response(body=body, headers=headers | {hdrs.CONTENT_TYPE: "application/jwk-set+json"})

    def _now(self) -> tuple[bytes, str]:
        """The document and its tag."""
        body = self._document()
        if body is not self._served[0]:
            self._served = (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
        return self._served

    def _trouble(self, trouble: Trouble) -> None:
        self._log.limited("jwks_connection_failed", why=trouble.value)


def _has_it(request: web.BaseRequest, tag: str) -> bool:
    """Whether the reader's copy is this one (RFC 9110, 13.1.2)."""
    given = request.headers.get(hdrs.IF_NONE_MATCH, "")
    return given.strip() == "*" or tag in (one.strip().removeprefix("W/") for one in given.split(","))


def _closing(status: int, headers: dict[str, str] | None = None) -> web.Response:
    response = web.Response(status=status, headers=headers)
    response.force_close()
    return response
