"""The listener that vendors deliver to: `POST /v1/events/TENANT/CONNECTION`, and nothing else for anybody.

A delivery proves itself by its signature. Whatever is not proved is answered alike, after the same time: nobody learns
which tenants and connections there are, nor how these are.
"""

import asyncio
import math
import re
import socket
from collections import Counter
from typing import Protocol

from aiohttp import ClientError, hdrs, web

from adapters.base import Clock
from adapters.webhooks import Delivery
from gateway.events.receiving import Reply
from gateway.metrics.events import Received
from gateway.settings.events import EventSettings
from gateway.surfaces.certificates import OnEvent, unheard
from gateway.surfaces.http import Bounds, HttpListener, Tls, Trouble
from gateway.telemetry import Log

NAME = "events"
"""What events call the listener."""
BODY_SECONDS = 10.0
"""How long a body may take to arrive."""
REFUSED_SECONDS = 0.25
"""After its body arrived, when a delivery that is not proved is answered; later while secrets take longer."""
LATELY_SECONDS = 60.0
"""For how long after one took longer every other does."""
HELD_BYTES = 64 * 1024 * 1024
"""What the bodies of all connections may take in memory."""
FINE_SECONDS = 0.0015
"""Of that time what no timer is trusted with."""
_PATH = re.compile(r"/v1/events/([a-z0-9][a-z0-9_.-]{0,63})/([a-z0-9][a-z0-9_.-]{0,63})")
_TAKEN = frozenset({Received.KEPT, Received.REPEATED, Received.IGNORED, Received.GREETED})
_QUIET: dict[str, str] = {hdrs.SERVER: ""}
"""The library would tell its name and version, and Python's."""
_AGAIN_SECONDS = 30
"""When a vendor may ask again what could not be kept."""


class Receiving(Protocol):
    """Who receives (see `gateway.events.receiving.Receiver`)."""

    async def receive(self, tenant: str, name: str, delivery: Delivery, peer: str) -> Reply:
        """What became of it."""
        ...


class Counting(Protocol):
    """Who hears how deliveries ended (`gateway.metrics.counts.Metrics`)."""

    def delivered(self, result: Received) -> None:
        """A delivery ended so."""
        ...


def bounds_of(settings: EventSettings) -> Bounds:
    """What the listener takes on: no more bodies at once than there is memory for."""
    return Bounds(connections=max(8, min(64, HELD_BYTES // settings.max_body_bytes)), prove_seconds=30.0)


class EventServer:
    """Takes deliveries on a socket of its own. `start` it, then `stop` it."""

    def __init__(  # noqa: PLR0913 - its parts, each named at the call
        self,
        settings: EventSettings,
        receiver: Receiving,
        counting: Counting,
        *,
        clock: Clock,
        log: Log,
        on_event: OnEvent = unheard,
        bounds: Bounds | None = None,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """`on_event` is told of certificates that were rotated or cannot be used (see `Certificates`)."""
        self._most_bytes = settings.max_body_bytes
        self._receiver = receiver
        self._counting = counting
        self._clock = clock
        self._log = log
        self._bounds = bounds or bounds_of(settings)
        self._body_seconds = body_seconds
        self._pace = _Pace(clock)
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
            return await self._answered(request)
        except (ClientError, ConnectionError, web.RequestPayloadError):  # gone before its body was there
            return self._ended(Received.WRONG, 400)
        except Exception as error:  # noqa: BLE001 - a vendor gets an answer, and nothing of ours in it
            self._log.failure("events_failed", error)
            return self._ended(Received.FAILED, 503)

    async def _answered(self, request: web.BaseRequest) -> web.Response:
        named = _PATH.fullmatch(request.path)
        tenant, name = named.groups() if named is not None else ("", "")
        if request.method != hdrs.METH_POST:
            return self._ended(Received.WRONG, 405, {hdrs.ALLOW: hdrs.METH_POST})
        if (request.content_length or 0) > self._most_bytes:
            return self._ended(Received.TOO_LARGE, 413)
        body = await self._body(request)
        if isinstance(body, web.Response):
            return body
        began = self._clock.monotonic()
        delivery = Delivery(headers=_single(request), body=body, received_at=self._clock.now())
        reply = await self._receiver.receive(tenant, name, delivery, request.remote or "")
        if reply.is_proved:
            return self._told(request, reply)
        await self._pace.wait(began)
        return self._ended(reply.result, 401)

    async def _body(self, request: web.BaseRequest) -> bytes | web.Response:
        """The body, or why it is not taken; then nothing more is read of it."""
        parts, room = [], self._most_bytes
        try:
            async with asyncio.timeout(self._body_seconds):
                async for part in request.content.iter_any():
                    room -= len(part)
                    if room < 0:
                        return self._ended(Received.TOO_LARGE, 413)
                    parts.append(part)
        except TimeoutError:
            return self._ended(Received.SLOW, 408)
        return b"".join(parts)

    def _told(self, request: web.BaseRequest, reply: Reply) -> web.Response:
        """What a vendor hears."""
        if reply.result is Received.RATE:
            return self._ended(reply.result, 429, {hdrs.RETRY_AFTER: str(math.ceil(reply.wait_seconds))})
        if reply.result not in _TAKEN:
            return self._ended(reply.result, 503, {hdrs.RETRY_AFTER: str(_AGAIN_SECONDS)})
        HttpListener.has_proved(request, seconds=self._bounds.idle_seconds)
        self._counting.delivered(reply.result)
        if reply.greeting is None:
            return web.Response(status=200, headers=_QUIET)
        headers = {**_QUIET, hdrs.CONTENT_TYPE: reply.greeting.content_type}
        return web.Response(status=200, body=reply.greeting.body, headers=headers)

    def _ended(self, result: Received, status: int, headers: dict[str, str] | None = None) -> web.Response:
        """Nothing more is read of whoever sent this."""
        self._counting.delivered(result)
        response = web.Response(status=status, headers={**_QUIET, **(headers or {})})
        response.force_close()
        return response

    def _trouble(self, trouble: Trouble) -> None:
        self._log.limited("events_connection_failed", why=trouble.value)
        self._counting.delivered(Received.WRONG)


class _Pace:
    """Has everything that is not proved answered after the same time: where a secret is slow to come, or does not come,
    there is a connection, and so all others are as slow.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._slowest = 0.0
        self._at = 0.0

    async def wait(self, began: float) -> None:
        """Returns when one that began then is to be answered."""
        now = self._clock.monotonic()
        if now - began >= self._slowest or now - self._at > LATELY_SECONDS:
            self._slowest, self._at = now - began, now
        due = began + max(REFUSED_SECONDS, self._slowest)
        await self._clock.sleep(max(0.0, due - now - FINE_SECONDS))
        before = now
        # Timers count milliseconds from when they are set: how long the work took would show in the last of them.
        while (now := self._clock.monotonic()) < due:
            await self._clock.sleep(0.0 if now > before else due - now)
            before = now


def _single(request: web.BaseRequest) -> dict[str, str]:
    """Headers by name in lower case, without those that came twice: which one holds would be up to whoever reads."""
    # Not by the names alone: of one that came twice the library gives them once.
    counts = Counter(name.lower() for name, _ in request.headers.items())
    return {name.lower(): value for name, value in request.headers.items() if counts[name.lower()] == 1}
