"""Streamable HTTP: every message is a POST, and its answer one JSON text or a stream of events.

No stream is opened by GET. It would only bring what a server says unasked, and of that nothing matters but that its
tools changed, which is told on the stream of a call too, and seen at the next look at the latest. A stream that breaks
is not resumed: by then nobody knows what a call has done, and a resumed one would hide it.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from adapters.base import AdapterError, Clock, ErrorKind, Happened, Secret, Target
from adapters.mcp_upstream import failures, rpc
from adapters.mcp_upstream.rpc import Answer, NotRpc, RpcError
from adapters.mcp_upstream.sse import Events, Flood
from adapters.mcp_upstream.wire import Asking, Forgotten, Hears
from adapters.transport.authorisation import header_text
from adapters.transport.client import Transport
from adapters.transport.failures import status_error
from adapters.transport.messages import Request
from adapters.transport.streaming import Streamed
from adapters.transport.urls import WebUrl

MAX_STREAM_BYTES = 32 * 1024 * 1024
"""Of all that comes for one request, comments and notifications included."""
AT_ONCE_BYTES = 16 * 1024
"""Of a stream so much is read before others have their turn."""
ASIDE_SECONDS = 5.0
"""For what is sent without waiting."""
MAX_ASIDE = 16
"""So much is sent without waiting at once; beyond it, it is lost."""
ASSERTION_HEADER = "Tollhouse-Assertion"
_NO_SESSION = -32000
"""With HTTP 400, where many servers that were started anew should say 404: they look the session up before all else."""

caller: contextvars.ContextVar[Callable[[], Awaitable[Secret]] | None] = contextvars.ContextVar("caller", default=None)
"""Makes the assertion of who calls, in whose task this is; None where the server is not told. A session is shared by
calls, and each has an assertion of its own.
"""
_WORDS: Mapping[int, tuple[ErrorKind, str]] = {
    401: (
        ErrorKind.NEEDS_AUTHORISATION,
        "The upstream server does not accept the connection's credential; its operator has to authorise it again.",
    ),
    403: (ErrorKind.FORBIDDEN, "The connection's account may not do this at the upstream server."),
    429: (ErrorKind.RATE_LIMITED, "The upstream server asks for fewer calls; wait before the next one."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a server is, and how one shows who asks."""

    url: WebUrl
    target: Target
    credential: Secret | None = field(repr=False)
    """The session's own, dropped when it is closed."""


class HttpWire:
    """One session with one server."""

    is_request_scoped = True

    def __init__(self, transport: Transport, clock: Clock, place: Place, hears: Hears) -> None:
        self._transport = transport
        self._clock = clock
        self._place = place
        self._hears = hears
        self._session_id = ""
        self._protocol = ""
        self._is_modern = False
        self._aside: set[asyncio.Task[None]] = set()
        self.is_open = True

    def begin(self) -> None:
        """See `Wire`."""
        self._session_id, self._protocol, self._is_modern = "", "", False

    def agreed(self, protocol: str, *, is_modern: bool) -> None:
        """See `Wire`."""
        self._protocol, self._is_modern = protocol, is_modern

    async def ask(self, asking: Asking) -> Answer:
        """See `Wire`."""
        headers = {**await self._open_headers(), **asking.headers}
        asking.check()  # meanwhile another call may have opened the session anew
        session_id = self._session_id
        request = self._request("POST", asking.deadline, headers, asking.body, is_read=not asking.has_effect)

        async def read(streamed: Streamed) -> Answer:
            return await self._read(asking, streamed, session_id)

        with _truth(asking):
            return await self._transport.stream(request, read)

    async def told(self, body: bytes, deadline: float) -> None:
        """See `Wire`."""
        request = self._request("POST", deadline, await self._open_headers(), body, is_read=False)
        response = await self._transport.send(request)
        if response.error is not None:
            raise response.error

    def tell(self, body: bytes) -> None:
        """See `Wire`. The stateless revision has nothing that is told: who lets go of a request has ended it."""
        if not self._is_modern and self.is_open and len(self._aside) < MAX_ASIDE:
            task = asyncio.get_running_loop().create_task(self._tell(body))
            self._aside.add(task)
            task.add_done_callback(self._aside.discard)

    async def close(self) -> None:
        """See `Wire`."""
        if not self.is_open:
            return
        self.is_open = False
        for task in (*self._aside,):
            task.cancel()
        try:
            if self._session_id:
                await self._end()
        finally:
            if self._place.credential is not None:
                self._place.credential.drop()

    def _check_open(self) -> None:
        """Its credential is dropped when it is closed, and nothing goes out without it."""
        if not self.is_open:
            raise failures.not_now("The upstream server was just let go of; call again.")

    async def _tell(self, body: bytes) -> None:
        try:
            await self.told(body, self._clock.monotonic() + ASIDE_SECONDS)
        except AdapterError:
            return  # nobody waits for it

    async def _end(self) -> None:
        deadline = self._clock.monotonic() + ASIDE_SECONDS
        try:
            caller.set(None)
            await self._transport.send(self._request("DELETE", deadline, await self._headers(), None, is_read=False))
        except AdapterError:
            return  # the server forgets it by itself

    def _request(
        self, method: str, deadline: float, headers: Mapping[str, str], body: bytes | None, *, is_read: bool
    ) -> Request:
        target = self._place.target
        return Request(
            method=method,
            url=self._place.url,
            headers=headers,
            body=body,
            deadline=deadline,
            circuit=target.account or target.name,
            max_bytes=MAX_STREAM_BYTES,
            hosts=target.hosts,
            is_read=is_read,
            follows=False,
        )

    async def _open_headers(self) -> dict[str, str]:
        """Raises `AdapterError` when it was closed, before or meanwhile."""
        self._check_open()
        headers = await self._headers()
        self._check_open()
        return headers

    async def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self._place.credential is not None:
            headers["Authorization"] = f"Bearer {header_text(self._place.credential)}"
        asserted = caller.get()
        if asserted is not None:
            headers[ASSERTION_HEADER] = header_text(await asserted())
        if self._session_id:
            headers["Mcp-Session-Id"] = self._session_id
        if self._protocol:
            headers["MCP-Protocol-Version"] = self._protocol
        return headers

    async def _read(self, asking: Asking, streamed: Streamed, session_id: str) -> Answer:
        if not 200 <= streamed.status < 300:
            return await self._refused(asking, streamed, session_id)
        if asking.method == "initialize":
            self._session_id = _session_id(streamed.headers.get("Mcp-Session-Id", ""))
        kind = streamed.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            return await self._streamed(asking, streamed)
        if kind != "application/json":
            raise failures.unreadable(has_effect=asking.has_effect)
        answer = self._heard(asking, await streamed.body())
        if answer is None:
            raise failures.unreadable(has_effect=asking.has_effect)
        return answer

    async def _streamed(self, asking: Asking, streamed: Streamed) -> Answer:
        events = Events(rpc.MAX_MESSAGE_BYTES)
        async for piece in streamed.pieces():
            for at in range(0, len(piece), AT_ONCE_BYTES):
                for data in events.feed(piece[at : at + AT_ONCE_BYTES]):
                    answer = self._heard(asking, data)
                    if answer is not None:
                        return answer
                await asyncio.sleep(0)  # what is there already would keep everybody else waiting
        raise failures.broken_off(has_effect=asking.has_effect)

    def _heard(self, asking: Asking, data: bytes) -> Answer | None:
        """The answer, when it is in there; the first one counts. Whatever else is in there is heard."""
        found = None
        for message in rpc.read(data, protocol=self._protocol):
            if not isinstance(message, Answer):
                self._hears(message)
            elif message.id == asking.id and type(message.id) is int:
                found = found or message
        return found

    async def _refused(self, asking: Asking, streamed: Streamed, session_id: str) -> Answer:
        """The error in JSON-RPC that came with a status; where there is none, the status says what is wrong."""
        # cases: 1. a status that says all  2. a session that is not known any more  3. an error in words of JSON-RPC
        status, happened = streamed.status, streamed.happened
        has_session = bool(session_id) and asking.method != "initialize"
        if status == 404 and has_session:
            raise Forgotten
        if status < 500 and status not in _WORDS:
            error = await _error_in(streamed)
            if error is not None and status == 400 and has_session and error.code == _NO_SESSION:
                raise Forgotten
            if error is not None:
                return Answer(id=asking.id, error=replace(error, is_refused=happened is Happened.NO))
        raise _status_failure(status, happened, streamed.retry_after_seconds)


async def _error_in(streamed: Streamed) -> RpcError | None:
    try:
        messages = rpc.read(await streamed.body(), protocol="")
    except NotRpc:
        return None
    return next((one.error for one in messages if isinstance(one, Answer)), None)


def _status_failure(status: int, happened: Happened, wait_seconds: float | None) -> AdapterError:
    if status in _WORDS:
        kind, message = _WORDS[status]
        return AdapterError(kind, message, happened=happened, retry_after_seconds=wait_seconds)
    error = status_error(status, happened, wait_seconds)
    assert error is not None
    return error


def _session_id(value: str) -> str:
    if len(value) > 1024 or not value.isascii() or not (value.isprintable() or not value) or " " in value:
        raise failures.unreadable(has_effect=False)
    return value


@contextmanager
def _truth(asking: Asking) -> Iterator[None]:
    """A good status is no answer yet: the head of a stream comes before anything was done."""
    try:
        yield
    except NotRpc as error:
        raise failures.unreadable(has_effect=asking.has_effect) from error
    except Flood as error:
        raise failures.too_large(has_effect=asking.has_effect) from error
    except AdapterError as error:
        if error.happened is Happened.YES:
            error.happened = Happened.UNKNOWN
        raise
