"""The one HTTP client: guarded addresses, redirects by hand, caps on everything, one deadline.

No proxy variables, no netrc, no cookies: what a request carries is what its adapter gave it.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace

import aiohttp
from yarl import URL

from adapters.base import AdapterError, Clock, ErrorKind, Happened
from adapters.transport.bodies import ACCEPT_ENCODING, read_body
from adapters.transport.breaker import Breaker
from adapters.transport.failures import Progress, failures_mapped
from adapters.transport.guard import Guard
from adapters.transport.messages import Request, Response
from adapters.transport.redirects import STATUSES, check_host, redirected
from adapters.transport.resolver import CheckedResolver, Resolver
from adapters.transport.retry import MAX_RETRY_AFTER_SECONDS, Patience, retry_after_seconds
from adapters.transport.streaming import Reads, Streamed, T
from adapters.transport.urls import WebUrl

_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 30.0
_MAX_HEADER_LINE_BYTES = 16 * 1024
_MAX_HEADERS = 128
_MAX_CONNECTIONS = 100


@dataclass(frozen=True, slots=True)
class _Reading:
    """How an answer is asked for."""

    encoding: str
    silence_seconds: float | None

    @property
    def timeout(self) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=self.silence_seconds)


_PATIENT = _Reading(ACCEPT_ENCODING, _SILENCE_SECONDS)
_UNTIL_DEADLINE = _Reading("identity", None)

_AddressInfo = tuple[
    int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[str, int] | tuple[object, ...]
]


class Transport:
    """Sends requests for every vendor. One per process; `close` it before the loop ends."""

    def __init__(  # noqa: PLR0913 - what it is handed of the outside
        self,
        *,
        clock: Clock,
        random: Callable[[], float],
        guard: Guard,
        resolver: Resolver,
        breaker: Breaker,
        tls: ssl.SSLContext | None = None,
        max_connections: int = _MAX_CONNECTIONS,
    ) -> None:
        """`max_connections` are open at once, a fifth of them to one host; requests beyond wait their turn."""
        self._clock = clock
        self._random = random
        self._guard = guard
        self._resolver = resolver
        self._breaker = breaker
        self._tls = tls
        self._max_connections = max_connections
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def send(self, request: Request) -> Response:
        """The answer, whatever its status. Raises `AdapterError`; cancellation passes, the connection let go.

        GET and HEAD follow up to five redirects if they are to; other methods none. Repeats what is safe to repeat.
        """
        progress = Progress(has_effect=request.has_effect)
        attempts = _Attempts(self, request, progress)
        with self._breaker.guarding(_circuit(request)) as verdict:
            try:
                response = await self._within_deadline(request, attempts)
            except AdapterError as error:
                error.attempts = max(attempts.count, 1)
                raise
            verdict.has_failed = response.status >= 500
        return replace(response, attempts=attempts.count) if attempts.count > 1 else response

    async def stream(self, request: Request, read: Reads[T]) -> T:
        """What `read` makes of the answer, which it gets once the head is there, whatever the status.

        Nothing is repeated, and no redirect followed. The server may be silent for as long as it likes: the deadline
        ends it, `read` and all. Raises `AdapterError`; cancellation passes, the connection let go.
        """
        progress = Progress(has_effect=request.has_effect)
        remaining = request.deadline - self._clock.monotonic()
        with self._breaker.guarding(_circuit(request)) as verdict, failures_mapped(progress):
            if remaining <= 0:
                raise TimeoutError
            async with asyncio.timeout(remaining), self._answer(request, progress, _UNTIL_DEADLINE) as answer:
                progress.status = answer.status
                verdict.has_failed = answer.status >= 500
                try:
                    return await read(Streamed(answer, request.max_bytes, progress, self._wait_asked(answer)))
                finally:
                    if not answer.content.at_eof():
                        answer.close()  # what was not read must not be waited for

    @property
    def open_circuits(self) -> int:
        """How many servers are left alone for the moment."""
        return self._breaker.open_circuits

    async def close(self) -> None:
        """Let go of every connection. Calling it twice is harmless."""
        self._is_closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _within_deadline(self, request: Request, attempts: "_Attempts") -> Response:
        remaining = request.deadline - self._clock.monotonic()
        with failures_mapped(attempts.progress):
            if remaining <= 0:
                raise TimeoutError
            async with asyncio.timeout(remaining):
                if request.has_effect and not request.has_native_key:
                    return await attempts.next()
                patience = Patience(clock=self._clock, random=self._random, deadline=request.deadline)
                return await patience.repeat(attempts.next)

    async def attempt(self, request: Request, progress: Progress) -> Response:
        """One attempt with its redirects; an exception is mapped here, so that a retry can judge it."""
        redirects: list[str] = []
        with failures_mapped(progress):
            while True:
                response = await self._hop(request, progress)
                location = response.headers.get("Location")
                if not request.is_followed or response.status not in STATUSES or location is None:
                    return replace(response, redirects=tuple(redirects)) if redirects else response
                request = redirected(request, location, len(redirects))
                redirects.append(request.url.text)

    async def _hop(self, request: Request, progress: Progress) -> Response:
        async with self._answer(request, progress, _PATIENT) as answer:
            progress.status = answer.status
            return await self._read(request, answer, progress)

    @asynccontextmanager
    async def _answer(
        self, request: Request, progress: Progress, reading: "_Reading"
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        check_host(request)
        url = _as_prepared(request.url)
        async with self._open_session().request(
            request.method,
            url,
            headers={**request.headers, "Accept-Encoding": reading.encoding},
            data=request.body,
            allow_redirects=False,
            timeout=reading.timeout,
            trace_request_ctx=progress,
            middlewares=(_maps_failures(progress),),
        ) as answer:
            yield answer

    async def _read(self, request: Request, answer: aiohttp.ClientResponse, progress: Progress) -> Response:
        encoding = "" if request.method == "HEAD" else ",".join(answer.headers.getall("Content-Encoding", ()))
        is_redirect = request.is_followed and answer.status in STATUSES
        data, cut = b"", None
        if not is_redirect:
            body = await read_body(answer.content.iter_any(), encoding, request.max_bytes, progress.happened)
            data, cut = body.data, body.cut
        if is_redirect or cut is not None:
            answer.close()  # what was not read must not be waited for
        return Response(
            status=answer.status,
            url=request.url,
            headers=answer.headers,
            body=data,
            cut=cut,
            happened=progress.happened,
            retry_after_seconds=self._wait_asked(answer),
        )

    def _wait_asked(self, answer: aiohttp.ClientResponse) -> float | None:
        values = answer.headers.getall("Retry-After", ())
        return retry_after_seconds(values, self._clock.now(), MAX_RETRY_AFTER_SECONDS)

    def _open_session(self) -> aiohttp.ClientSession:
        """The session, made at first use because it belongs to the running loop."""
        if self._is_closed:
            raise RuntimeError("the transport is closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                skip_auto_headers=("Content-Type",),  # of nothing, or of what its adapter has not named
                timeout=_PATIENT.timeout,
                max_line_size=_MAX_HEADER_LINE_BYTES,
                max_field_size=_MAX_HEADER_LINE_BYTES,
                max_headers=_MAX_HEADERS,
                trace_configs=[_tracing()],
            )
        return self._session

    def _connector(self) -> aiohttp.TCPConnector:
        # No DNS cache: each connection resolves once and goes to what was checked.
        return aiohttp.TCPConnector(
            resolver=CheckedResolver(self._resolver, self._guard),
            use_dns_cache=False,
            socket_factory=self._socket,
            limit=self._max_connections,
            limit_per_host=max(self._max_connections // 5, 1),
            ssl=self._tls if self._tls is not None else True,
        )

    def _socket(self, info: _AddressInfo) -> socket.socket:
        """The choke point: every connection's socket is made here, for exactly the address it goes to."""
        family, kind, protocol, _, address = info
        self._guard.check(str(address[0]), int(str(address[1])))
        return socket.socket(family=family, type=kind, proto=protocol)


class _Attempts:
    """Counts the attempts of one request and keeps what is known across them."""

    def __init__(self, transport: Transport, request: Request, progress: Progress) -> None:
        self._transport = transport
        self._request = request
        self.progress = progress
        self.count = 0

    async def next(self) -> Response:
        self.count += 1
        self.progress.begin_attempt()
        return await self._transport.attempt(self._request, self.progress)


def _circuit(request: Request) -> str:
    return f"{request.circuit} {request.url.host} {request.url.port}"


def _as_prepared(url: WebUrl) -> URL:
    """The URL for aiohttp, taken as it stands. Were it read differently there, the request is not made."""
    parsed = URL(url.text, encoded=True)
    if (parsed.scheme, parsed.raw_host, parsed.port) != url.origin:
        raise AdapterError(ErrorKind.INVALID, "The URL cannot be requested; check it.", happened=Happened.NO)
    return parsed


def _tracing() -> aiohttp.TraceConfig:
    """Notes the moment from which bytes of a request may have gone out."""
    tracing = aiohttp.TraceConfig()

    async def connected(_session: aiohttp.ClientSession, context: SimpleNamespace, _parameters: object) -> None:
        context.trace_request_ctx.is_connected = True

    tracing.on_connection_create_end.append(connected)
    tracing.on_connection_reuseconn.append(connected)
    return tracing


def _maps_failures(progress: Progress) -> aiohttp.ClientMiddlewareType:
    """Keeps aiohttp from repeating GET, PUT and DELETE by itself on a broken connection: it lets our errors pass."""

    async def send(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        with failures_mapped(progress):
            return await handler(request)
        raise AssertionError("a failure is raised and never swallowed")

    return send
